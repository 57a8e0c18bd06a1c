-- Takes a job from the blocked ones.
-- ?1 job key number.
-- Returns attempt, failures, crashes; one row or none.
-- Index: blocked (job).
delete from blocked where job = ?1 returning attempt, failures, crashes
