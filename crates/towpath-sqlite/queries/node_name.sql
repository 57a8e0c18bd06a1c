-- Reads a node's name.
-- ?1 job key number.
-- Returns name; one row.
-- Index: node (job).
select name from node where job = ?1
