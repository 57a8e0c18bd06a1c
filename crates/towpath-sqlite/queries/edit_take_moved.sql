-- Takes a job that is to be edited out of the head, if it was put back there.
-- ?1 job key number.
-- Returns attempt, failures, crashes, seq, NULL; one row or none.
-- Index: ready (job).
delete from ready where job = ?1 and seq <> job returning attempt, failures, crashes, seq, null
