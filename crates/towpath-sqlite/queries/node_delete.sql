-- Deletes a node.
-- ?1 job key number.
delete from node where job = ?1
