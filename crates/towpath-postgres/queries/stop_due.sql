-- Stopped graphs that are to be looked at.
-- $1 int limit. Returns now (us), least (us, when the first of the others is due, or null), id, reason, at (us), by due, then graph; one
-- row with a null if none is due. No locks.
-- Index: stop (due, graph), graph (graph).
with clock as materialized (
  select towpath.clock() as now
)
select c.now, (select min(s.due) from towpath.stop s where s.due > c.now) as least, d.id, d.reason, d.at
from clock c left join lateral (
  select g.id, s.reason, s.at, s.due, s.graph from towpath.stop s join towpath.graph g on g.graph = s.graph
  where s.due <= c.now
  order by s.due, s.graph
  limit $1::int
) d on true
order by d.due, d.graph
