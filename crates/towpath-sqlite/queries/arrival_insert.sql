-- Puts a signal into a run's inbox, unless one with its dedup key is there.
-- ?1 run id text, ?2 seq number, ?3 name text, ?4 dedup text or NULL, ?5 codec number, ?6 at µs, ?7 bytes,
-- ?8 prune_at µs, for a run that is not there.
-- Changes no row if the key is there.
-- Index: arrival (run, dedup), run (id).
insert into arrival (run, seq, name, dedup, codec, at, bytes, prune_at)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, case when not exists (select 1 from run r where r.id = ?1) then ?8 end)
on conflict (run, dedup) where dedup is not null do nothing
