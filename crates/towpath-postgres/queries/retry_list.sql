-- Graphs whose retry is to be carried on.
-- $1 int limit. Returns now (us), least (us, when the first of the others is due, or null), id, by due, then graph; one row
-- with a null if none is due. No locks.
-- Index: retry (due, graph), graph (graph).
with clock as materialized (
  select towpath.clock() as now
)
select c.now, (select min(r.due) from towpath.retry r where r.due > c.now) as least, d.id
from clock c left join lateral (
  select g.id, r.due, r.graph from towpath.retry r join towpath.graph g on g.graph = r.graph
  where r.due <= c.now
  order by r.due, r.graph
  limit $1::int
) d on true
order by d.due, d.graph
