-- Deletes the attempts of a job.
-- ?1 job key number.
-- Index: attempt (job, attempt).
delete from attempt where job = ?1
