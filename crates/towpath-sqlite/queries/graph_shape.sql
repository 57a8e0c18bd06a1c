-- Reads what a plan asks of a graph as a whole.
-- ?1 id bytes, ?2 the code of the stop that prunes.
-- Returns graph, generation, mode and since of its retry, stop, undoing, rearmed; one row or none.
-- Index: graph (id), stop (graph), retry (graph).
select g.graph, g.generation, r.mode, r.since, s.reason, g.undoing, g.rearmed
from graph g
left join stop s on s.graph = g.graph
left join retry r on r.graph = g.graph
where g.id = ?1 and s.reason is not ?2
