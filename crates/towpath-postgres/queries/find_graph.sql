-- Locks a graph for an order.
-- $1 uuid id. Returns graph (key), stop (reason or null). Locks: the graph's row.
-- Index: graph (id), stop (graph).
select g.graph, (select s.reason from towpath.stop s where s.graph = g.graph) as stop
from towpath.graph g where g.id = $1::uuid for update
