-- Keeps a blob.
-- ?1 name text, ?2 at µs, ?3 bytes.
-- Index: blob (name).
insert into blob (name, at, bytes) values (?1, ?2, ?3) on conflict (name) do update set at = excluded.at
