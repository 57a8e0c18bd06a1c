-- Says how far a node has come with its parents.
-- ?1 job key number.
-- Returns phase; one row or none.
-- Index: node (job).
select phase from node where job = ?1
