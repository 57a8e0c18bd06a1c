-- Says what holds a graph back.
-- ?1 id of the graph, bytes.
-- Returns reason; one row or none.
-- Index: graph (id), stop (graph).
select s.reason from graph g join stop s on s.graph = g.graph where g.id = ?1
