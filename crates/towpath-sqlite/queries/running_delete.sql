-- Takes a job from its worker.
-- ?1 job key number.
-- Index: running (job).
delete from running where job = ?1
