-- Deletes a job's end.
-- ?1 job key number.
-- Index: ended (job).
delete from ended where job = ?1
