-- Reads a blob.
-- $1 text name. Returns bytes; one row or none. No locks.
-- Index: blob (name).
select bytes from towpath.blob where name = $1::text
