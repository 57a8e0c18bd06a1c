-- Finds a graph's end.
-- ?1 graph key number.
-- Returns job; one row or none.
-- Index: node (graph, name).
select job from node where graph = ?1 and name = 'end'
