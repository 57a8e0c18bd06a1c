-- Counts what the file has in its schema.
-- Returns one row with that number.
select count(*) from sqlite_schema
