-- Reads a blob.
-- ?1 name text.
-- Returns bytes; one row or none.
-- Index: blob (name).
select bytes from blob where name = ?1
