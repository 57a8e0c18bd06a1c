-- Restarts of a graph.
-- $1 uuid id. Returns id, by key. No locks.
-- Index: graph (restart_of, graph), stop (graph).
select g.id from towpath.graph g left join towpath.stop s on s.graph = g.graph
where g.restart_of = $1::uuid and s.reason is distinct from 2
order by g.graph
