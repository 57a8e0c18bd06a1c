-- Takes a job that is to be edited from the blocked ones.
-- ?1 job key number.
-- Returns attempt, failures, crashes, NULL, NULL; one row or none.
-- Index: blocked (job).
delete from blocked where job = ?1 returning attempt, failures, crashes, null, null
