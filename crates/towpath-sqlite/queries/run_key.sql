-- Finds the job that has a run's id.
-- ?1 run id text.
-- Returns the job's key; one row or none.
-- Index: run (id).
select job from run where id = ?1
