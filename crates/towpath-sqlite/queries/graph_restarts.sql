-- Lists restarts of a graph.
-- ?1 id bytes, ?2 the code of the stop that prunes.
-- Returns id, oldest first.
-- Index: graph (restart_of, graph), stop (graph).
select g.id
from graph g
left join stop s on s.graph = g.graph
where g.restart_of = ?1 and s.reason is not ?2
order by g.graph
