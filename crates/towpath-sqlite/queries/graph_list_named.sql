-- Lists graphs of a name.
-- ?1 to ?4 as in graph_list, ?5 the name.
-- Returns the columns of graph_list, newest first.
-- Index: graph (name, graph), stop (graph).
select g.graph, g.id, g.name, g."end", s.reason, g.nodes, g.created_at, g.ended_at, g.generation,
    g.restart_of, g.undo_rank, case when g.undo_rank is not null then g.counts end
from graph g
left join stop s on s.graph = g.graph
where g.name = ?5 and g.graph < ?1 and s.reason is not ?3 and (?2 is null or g."end" = ?2)
order by g.graph desc
limit ?4
