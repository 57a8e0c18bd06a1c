-- Takes a job that is to be edited out of the head, if it was never moved.
-- ?1 lane, ?2 turnout, ?3 job key: numbers.
-- Returns attempt, failures, crashes, seq, NULL; one row or none.
-- Index: ready (lane, turnout, seq).
delete from ready where lane = ?1 and turnout = ?2 and seq = ?3 returning attempt, failures, crashes, seq, null
