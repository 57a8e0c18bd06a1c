-- Lists graphs that ended otherwise than by success.
-- ?1 to ?4 as in graph_list, with the end set, ?5 a name or NULL for all.
-- Returns the columns of graph_list, newest first.
-- Index: graph (end, graph), stop (graph).
select g.graph, g.id, g.name, g."end", s.reason, g.nodes, g.created_at, g.ended_at, g.generation,
    g.restart_of, g.undo_rank, case when g.undo_rank is not null then g.counts end
from graph g
left join stop s on s.graph = g.graph
where g."end" = ?2 and g."end" <> 0 and g.graph < ?1 and (?5 is null or g.name = ?5)
    and s.reason is not ?3
order by g.graph desc
limit ?4
