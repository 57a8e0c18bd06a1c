-- Deletes a node.
-- ?1 job key number.
-- Index: node (job).
delete from node where job = ?1
