-- Locks a graph and reads what an append asks of it.
-- $1 uuid graph. Returns graph (key), edges (the next edge's place), nodes, undo_rank. Locks: the graph's row.
-- Index: graph (id).
select graph, edges, nodes, undo_rank from towpath.graph where id = $1::uuid for update
