-- Deletes the edges from a parent.
-- ?1 parent job key number.
delete from edge where parent = ?1
