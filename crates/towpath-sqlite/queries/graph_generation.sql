-- Reads which generation of a graph it is.
-- ?1 graph key number.
-- Returns generation, edges; one row.
-- Index: graph (graph).
select generation, edges from graph where graph = ?1
