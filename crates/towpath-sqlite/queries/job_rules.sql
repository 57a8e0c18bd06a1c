-- Reads a job's rules.
-- ?1 key number.
-- Returns rules; one row.
-- Index: job (key).
select rules from job where key = ?1
