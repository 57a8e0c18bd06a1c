-- The names under which a job keeps something.
-- ?1 job key number.
-- Returns name, by name.
-- Index: mark (job, name).
select name from mark where job = ?1 order by name
