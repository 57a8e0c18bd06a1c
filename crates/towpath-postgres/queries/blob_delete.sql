-- Deletes blobs.
-- $1 text[] names. Returns nothing. Locks: those rows.
-- Index: blob (name).
delete from towpath.blob where name = any($1::text[])
