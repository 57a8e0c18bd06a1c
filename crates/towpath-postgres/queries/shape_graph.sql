-- What a plan asks of a graph as a whole.
-- $1 uuid id. Returns graph (key), generation, mode (JSON) and since (us) of its retry, stop (reason), undoing (code), rearmed (count);
-- one row or none. No locks.
-- Index: graph (id), stop (graph), retry (graph).
select g.graph, g.generation, r.mode, r.since, s.reason as stop, g.undoing, g.rearmed
from towpath.graph g
left join towpath.stop s on s.graph = g.graph
left join towpath.retry r on r.graph = g.graph
where g.id = $1::uuid and s.reason is distinct from 2
