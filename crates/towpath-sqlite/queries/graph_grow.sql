-- Counts what a graph has gained.
-- ?1 graph key, ?2 nodes, ?3 edges: numbers.
-- Index: graph (graph).
update graph set nodes = nodes + ?2, edges = edges + ?3 where graph = ?1
