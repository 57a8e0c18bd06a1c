-- Deletes a job's row.
-- ?1 key number.
delete from job where key = ?1
