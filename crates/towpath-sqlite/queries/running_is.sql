-- Says whether a claim still holds.
-- ?1 job key, ?2 worker key, ?3 turn, ?4 idx: numbers.
-- Returns one row or none.
-- Index: running (job).
select 1 from running where job = ?1 and worker = ?2 and turn = ?3 and idx = ?4
