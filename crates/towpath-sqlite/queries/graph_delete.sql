-- Deletes a graph's row.
-- ?1 graph key number.
delete from graph where graph = ?1
