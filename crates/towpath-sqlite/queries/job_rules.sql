-- Reads a job's rules.
-- ?1 key number.
-- Returns rules; one row. Index: primary key.
select rules from job where key = ?1
