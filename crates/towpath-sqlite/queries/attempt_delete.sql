-- Deletes the attempts of a job.
-- ?1 job key number.
delete from attempt where job = ?1
