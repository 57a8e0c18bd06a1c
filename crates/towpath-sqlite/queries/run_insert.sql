-- Writes a run, unless its id is there.
-- ?1 job key number, ?2 id text.
-- Changes no row if the id is there.
-- Index: run (id).
insert into run (job, id, chapter, entries) values (?1, ?2, 1, 0) on conflict (id) do nothing
