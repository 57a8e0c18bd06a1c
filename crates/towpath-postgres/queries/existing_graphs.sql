-- Which of these graphs are there.
-- $1 uuid[] ids. Returns id, name, graph (key), pruned (whether it is being deleted), in no order. No locks.
-- Index: graph (id), stop (graph).
select id, name, graph,
  exists (select 1 from towpath.stop s where s.graph = g.graph and s.reason = 2) as pruned
from towpath.graph g where id = any($1::uuid[])
