-- Takes a job that is to be edited from those that wait for their time.
-- ?1 job key number.
-- Returns attempt, failures, crashes, NULL, due µs; one row or none.
-- Index: later (job).
delete from later where job = ?1 returning attempt, failures, crashes, null, due
