-- Locks a graph and reads what an append asks of it.
-- $1 uuid graph. Returns graph (key), edges (the next edge's place), nodes. Locks: the graph's row.
-- Index: graph (id).
select graph, edges, nodes from towpath.graph where id = $1::uuid for update
