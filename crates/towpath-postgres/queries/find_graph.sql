-- Locks a graph for an order.
-- $1 uuid id. Returns graph (key). Locks: the graph's row.
-- Index: graph (id).
select graph from towpath.graph where id = $1::uuid for update
