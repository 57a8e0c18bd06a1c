-- Deletes a job's row.
-- ?1 key number.
-- Returns run: 1 or NULL; one row or none.
-- Index: job (key).
delete from job where key = ?1 returning run
