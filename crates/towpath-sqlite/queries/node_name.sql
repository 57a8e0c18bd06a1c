-- Reads a node's name.
-- ?1 job key number.
-- Returns name; one row. Index: primary key.
select name from node where job = ?1
