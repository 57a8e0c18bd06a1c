-- Finds a graph to prune: one that is being pruned, or one past its retention.
-- Returns graph (key) or no row. Locks: the graph's row; a locked one is skipped.
-- Index: stop (graph), graph (prune_at), graph (graph).
select g.graph from towpath.graph g
left join towpath.stop s on s.graph = g.graph and s.reason = 2
where g.graph = any(array(
    (select graph from towpath.stop where reason = 2 order by graph limit 8)
    union all
    (select graph from towpath.graph where prune_at <= towpath.clock() order by prune_at, graph limit 8)))
  -- Asked again of the row behind the lock: an append may have opened the graph meanwhile.
  and (s.graph is not null or g.prune_at <= towpath.clock())
order by s.graph nulls last, g.prune_at, g.graph
limit 1
for update of g skip locked
