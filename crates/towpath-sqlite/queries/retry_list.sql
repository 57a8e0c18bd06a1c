-- Lists graphs whose retry is to be carried on.
-- ?1 now µs, ?2 most rows.
-- Returns id, by due, then graph.
-- Index: retry (due, graph), graph (graph).
select g.id from retry r join graph g on g.graph = r.graph where r.due <= ?1 order by r.due, r.graph limit ?2
