-- Deletes a graph's row.
-- ?1 graph key number.
-- Index: graph (graph).
delete from graph where graph = ?1
