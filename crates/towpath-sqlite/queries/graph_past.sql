-- Finds a graph that is past its retention.
-- ?1 now µs.
-- Returns graph; the earliest, or none.
-- Index: graph (prune_at, graph).
select graph from graph where prune_at <= ?1 order by prune_at, graph limit 1
