-- A graph as it would be enqueued.
-- $1 uuid id. Returns graph (key), name, rules (JSON), codec, input; one row or none. No locks.
-- Index: graph (id), stop (graph).
select g.graph, g.name, g.rules, g.codec, g.input
from towpath.graph g left join towpath.stop s on s.graph = g.graph
where g.id = $1::uuid and s.reason is distinct from 2
