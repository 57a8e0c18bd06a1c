-- Reads a node's name and role.
-- ?1 job key number.
-- Returns name, role; one row.
-- Index: node (job).
select name, role from node where job = ?1
