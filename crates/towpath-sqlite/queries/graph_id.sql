-- Reads a graph's id.
-- ?1 graph key number.
-- Returns id; one row.
-- Index: graph (graph).
select id from graph where graph = ?1
