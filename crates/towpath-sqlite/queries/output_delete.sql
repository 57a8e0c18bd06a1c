-- Deletes what a job left.
-- ?1 job key number.
-- Index: output (job).
delete from output where job = ?1
