-- Begins the next generation of a graph.
-- ?1 graph key number.
-- Index: graph (graph).
update graph set generation = generation + 1 where graph = ?1
