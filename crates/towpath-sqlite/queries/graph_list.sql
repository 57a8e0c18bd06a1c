-- Lists graphs.
-- ?1 only keys below this, ?2 end number or NULL for all, ?3 the code of the
-- stop that prunes, ?4 most rows.
-- Returns graph, id, name, end, stop, nodes, created_at, ended_at, generation, restart_of, undo_rank, and counts if there is a
-- rank, newest first.
-- Index: graph (graph), stop (graph).
select g.graph, g.id, g.name, g."end", s.reason, g.nodes, g.created_at, g.ended_at, g.generation, g.restart_of,
    g.undo_rank, case when g.undo_rank is not null then g.counts end
from graph g
left join stop s on s.graph = g.graph
where g.graph < ?1 and s.reason is not ?3 and (?2 is null or g."end" = ?2)
order by g.graph desc
limit ?4
