-- Takes a job's end back.
-- ?1 job key number.
-- Returns attempt, failures, crashes, state; one row or none.
-- Index: ended (job).
delete from ended where job = ?1 returning attempt, failures, crashes, state
