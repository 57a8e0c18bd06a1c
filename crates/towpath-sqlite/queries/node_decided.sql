-- Says whether a decision about a node is waiting or held.
-- ?1 job key number.
-- Returns one row or none.
-- Index: undecided (job), running (job).
select 1 where exists (select 1 from undecided where job = ?1) or exists (select 1 from running where job = ?1)
