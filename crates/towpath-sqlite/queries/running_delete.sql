-- Takes a job from its worker.
-- ?1 job key number.
delete from running where job = ?1
