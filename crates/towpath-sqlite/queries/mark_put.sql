-- Writes what a job keeps under a name, in place of what was there.
-- ?1 job key number, ?2 name text, ?3 codec number, ?4 at µs, ?5 bytes.
-- Index: mark (job, name).
insert or replace into mark (job, name, codec, at, bytes) values (?1, ?2, ?3, ?4, ?5)
