-- Deletes what a job left.
-- ?1 job key number.
delete from output where job = ?1
