-- Keeps a blob.
-- $1 text name, $2 bytea bytes. Returns nothing. Locks: the row.
-- Index: blob (name).
insert into towpath.blob (name, at, bytes) values ($1::text, towpath.clock(), $2::bytea)
on conflict (name) do update set at = excluded.at
