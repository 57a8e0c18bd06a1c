-- Finds the job that has a run's id.
-- ?1 id text.
-- Returns the job's id; one row or none.
-- Index: run (id), job (key).
select j.id from run r join job j on j.key = r.job where r.id = ?1
