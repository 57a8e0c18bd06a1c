-- Takes a job out of the head that was never moved, so that its arrival is its key.
-- ?1 lane, ?2 turnout, ?3 job key: numbers.
-- Returns attempt, failures, crashes; one row or none.
-- Index: ready (lane, turnout, seq).
delete from ready where lane = ?1 and turnout = ?2 and seq = ?3 returning attempt, failures, crashes
