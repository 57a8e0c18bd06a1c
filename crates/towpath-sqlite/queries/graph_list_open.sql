-- Lists graphs that have not ended.
-- ?1 only keys below this, ?2 the code of the stop that prunes, ?3 most rows.
-- Returns the columns of graph_list, newest first.
-- Index: graph (graph), stop (graph).
select g.graph, g.id, g.name, g."end", s.reason, g.nodes, g.created_at, g.ended_at, g.generation,
    g.restart_of, g.undo_rank, case when g.undo_rank is not null then g.counts end
from graph g
left join stop s on s.graph = g.graph
where g."end" is null and g.graph < ?1 and s.reason is not ?2
order by g.graph desc
limit ?3
