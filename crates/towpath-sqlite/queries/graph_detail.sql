-- Shows one graph.
-- ?1 id bytes, ?2 the code of the stop that prunes.
-- Returns graph, id, name, end, stop, nodes, created_at, ended_at, generation, restart_of, undo_rank, counts if there is a
-- rank, codec, input, of a stop at, actor, why, of a retry due, and rules;
-- one row or none.
-- Index: graph (id), stop (graph), retry (graph).
select g.graph, g.id, g.name, g."end", s.reason, g.nodes, g.created_at, g.ended_at, g.generation,
    g.restart_of, g.undo_rank, case when g.undo_rank is not null then g.counts end, g.codec, g.input,
    s.at, s.actor, s.why, r.due, g.rules
from graph g
left join stop s on s.graph = g.graph
left join retry r on r.graph = g.graph
where g.id = ?1 and s.reason is not ?2
