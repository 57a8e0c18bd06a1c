-- Takes a job from its worker.
-- ?1 job key number.
-- Returns decide, attempt, failures, crashes, started_at, cancel; one row or none.
-- Index: running (job).
delete from running where job = ?1 returning decide, attempt, failures, crashes, started_at, cancel
