-- Deletes a run.
-- ?1 job key number.
-- Returns id; one row or none.
-- Index: run (job).
delete from run where job = ?1 returning id
