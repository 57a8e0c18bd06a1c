-- Reads what a run shows under a name.
-- ?1 run (id), ?2 name.
-- Returns codec, bytes, at µs; one row or none.
-- Index: run (id), shown (run, name, seq).
select s.codec, s.bytes, s.at from run r join shown s on s.run = r.job where r.id = ?1 and s.name = ?2 and s.seq = 0
