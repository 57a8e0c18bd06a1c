-- Reads a graph's rules.
-- ?1 graph key number.
-- Returns rules; one row.
-- Index: graph (graph).
select rules from graph where graph = ?1
