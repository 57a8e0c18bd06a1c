-- Finds a node of a graph.
-- ?1 graph key number, ?2 name text.
-- Returns job, depth; one row or none.
-- Index: node (graph, name).
select job, depth from node where graph = ?1 and name = ?2
