-- Deletes a blob.
-- ?1 name text.
-- Index: blob (name).
delete from blob where name = ?1
