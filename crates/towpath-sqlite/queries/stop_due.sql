-- Lists stopped graphs that are to be looked at.
-- ?1 now µs, ?2 most rows.
-- Returns id, reason, at, by due, then graph.
-- Index: stop (due, graph), graph (graph).
select g.id, s.reason, s.at from stop s join graph g on g.graph = s.graph where s.due <= ?1 order by s.due, s.graph limit ?2
