-- Forgets the retry of a graph.
-- ?1 graph key number.
-- Index: retry (graph).
delete from retry where graph = ?1
