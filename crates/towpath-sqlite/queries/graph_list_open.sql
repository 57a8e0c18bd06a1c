-- Lists graphs that have not ended.
-- ?1 only keys below this, ?2 a name or NULL for all, ?3 the code of the stop that prunes, ?4 most rows.
-- Returns the columns of graph_list, newest first.
-- Index: graph (graph), stop (graph).
select g.graph, g.id, g.name, g."end", s.reason, g.nodes, g.created_at, g.ended_at, g.generation,
    g.restart_of, g.undo_rank, case when g.undo_rank is not null then g.counts end
from graph g
left join stop s on s.graph = g.graph
where g."end" is null and g.graph < ?1 and (?2 is null or g.name = ?2) and s.reason is not ?3
order by g.graph desc
limit ?4
