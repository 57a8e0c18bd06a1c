-- Reads a run's inbox.
-- ?1 run id text, ?2 the last seq seen, ?3 most rows: numbers.
-- Returns seq, name, codec, bytes, at, by seq.
-- Index: arrival (run, seq).
select seq, name, codec, bytes, at from arrival where run = ?1 and seq > ?2 order by seq limit ?3
