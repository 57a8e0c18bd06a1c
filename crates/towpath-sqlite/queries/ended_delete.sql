-- Deletes a job's end.
-- ?1 job key number.
delete from ended where job = ?1
