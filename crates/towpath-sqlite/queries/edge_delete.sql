-- Deletes the edges from a parent.
-- ?1 parent job key number.
-- Index: edge (parent, ord).
delete from edge where parent = ?1
