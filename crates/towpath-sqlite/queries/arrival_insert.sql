-- Puts a signal into a run's inbox, unless one with its dedup key is there.
-- ?1 run id text, ?2 seq number, ?3 name text, ?4 dedup text or NULL, ?5 codec number, ?6 at µs, ?7 bytes.
-- Changes no row if the key is there.
-- Index: arrival (run, dedup).
insert into arrival (run, seq, name, dedup, codec, at, bytes) values (?1, ?2, ?3, ?4, ?5, ?6, ?7)
on conflict (run, dedup) where dedup is not null do nothing
