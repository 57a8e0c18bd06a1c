-- Lists blobs.
-- ?1 after which name, text, ?2 most rows.
-- Returns name, at µs, by name.
-- Index: blob (name).
select name, at from blob where name > ?1 order by name limit ?2
