-- Writes what a run shows, in place of what it has shown under the name before.
-- ?1 job key number, ?2 name, ?3 codec number, ?4 at µs, ?5 bytes.
-- Index: shown (run, name, seq).
insert into shown (run, name, seq, codec, at, bytes) values (?1, ?2, 0, ?3, ?4, ?5)
on conflict (run, name, seq) do update set codec = excluded.codec, at = excluded.at, bytes = excluded.bytes
