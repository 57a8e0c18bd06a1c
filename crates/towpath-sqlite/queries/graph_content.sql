-- Reads a graph as it would be enqueued.
-- ?1 id bytes, ?2 the code of the stop that prunes.
-- Returns graph, name, rules, codec, input; one row or none.
-- Index: graph (id), stop (graph).
select g.graph, g.name, g.rules, g.codec, g.input
from graph g
left join stop s on s.graph = g.graph
where g.id = ?1 and s.reason is not ?2
