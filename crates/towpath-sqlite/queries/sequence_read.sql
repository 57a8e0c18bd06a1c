-- Reads the next number of the sequence. The writer holds the file, so nobody else draws it.
-- Returns next; one row.
select next from meta
