-- Reads the retry of a graph.
-- ?1 graph key number.
-- Returns mode, since; one row or none.
-- Index: retry (graph).
select mode, since from retry where graph = ?1
