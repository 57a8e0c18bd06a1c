-- Deletes a run.
-- ?1 job key number.
-- Returns id; one row or none. Index: primary key.
delete from run where job = ?1 returning id
