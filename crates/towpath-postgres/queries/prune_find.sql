-- Finds a graph to prune: one that is being pruned, or one past its retention.
-- Returns graph (key) or no row. Index: stop, graph (prune_at). Locks: the graph's row; a locked one is skipped.
select g.graph from towpath.graph g
where g.graph = any(array(
    (select graph from towpath.stop where reason = 2 limit 8)
    union all
    (select graph from towpath.graph where prune_at <= towpath.clock() order by prune_at limit 8)))
order by g.prune_at
limit 1
for update skip locked
