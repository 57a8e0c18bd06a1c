-- Takes a job from those that wait for their time.
-- ?1 job key number.
delete from later where job = ?1
