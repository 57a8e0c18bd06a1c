-- Reads lines of a stream of a run.
-- ?1 run (id), ?2 name, ?3 after which number, ?4 most rows.
-- Returns number, codec, bytes, at µs, by number.
-- Index: run (id), shown (run, name, seq).
select s.seq, s.codec, s.bytes, s.at
from run r join shown s on s.run = r.job
where r.id = ?1 and s.name = ?2 and s.seq > ?3
order by s.seq
limit ?4
