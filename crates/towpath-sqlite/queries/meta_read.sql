-- Reads what the schema says of itself.
-- Returns version, floor; one row.
select version, floor from meta
