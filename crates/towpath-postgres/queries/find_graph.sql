-- Locks a graph for an order.
-- $1 uuid id. Returns graph (key), stop (reason or null). Index: graph (id), stop (graph). Locks: the graph's row.
select g.graph, (select s.reason from towpath.stop s where s.graph = g.graph) as stop
from towpath.graph g where g.id = $1::uuid for update
