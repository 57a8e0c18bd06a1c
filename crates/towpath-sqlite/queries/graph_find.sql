-- Finds a graph by its id.
-- ?1 id bytes.
-- Returns graph, name; one row or none.
-- Index: graph (id).
select graph, name from graph where id = ?1
