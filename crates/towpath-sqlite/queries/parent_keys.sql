-- Reads the keys of a job's parents.
-- ?1 id bytes.
-- Returns parents: 8 bytes each, or NULL; one row or none.
-- Index: job (id).
select parents from job where id = ?1
