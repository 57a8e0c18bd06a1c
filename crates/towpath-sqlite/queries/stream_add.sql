-- Writes the next line of a stream of a run.
-- ?1 job key number, ?2 name, ?3 codec number, ?4 at µs, ?5 bytes.
-- Index: shown (run, name, seq).
insert into shown (run, name, seq, codec, at, bytes)
values (?1, ?2, ifnull((select max(seq) from shown where run = ?1 and name = ?2), 0) + 1, ?3, ?4, ?5)
