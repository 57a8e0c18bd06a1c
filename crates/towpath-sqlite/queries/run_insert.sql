-- Writes a run, unless its id is taken, by one that is there or by one that was pruned.
-- ?1 job key number, ?2 id text, ?3 keep_id_us µs or NULL.
-- Changes no row if it is.
-- Index: run (id), tombstone (run).
insert into run (job, id, chapter, entries, keep_id_us)
select ?1, ?2, 1, 0, ?3 where not exists (select 1 from tombstone where run = ?2)
on conflict (id) do nothing
