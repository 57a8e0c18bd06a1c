-- Graphs whose retry is to be carried on.
-- $1 int limit. Returns id, by due, then graph. No locks.
-- Index: retry (due, graph), graph (graph).
select g.id from towpath.retry r join towpath.graph g on g.graph = r.graph
where r.due <= towpath.clock()
order by r.due, r.graph
limit $1::int
