-- How graphs stand to their policies of retries.
-- $1 bigint[] graphs (keys). Returns graph, generation, stop (reason), is_barred (whether an undo has ended), in no order.
-- No locks.
-- Index: graph (graph), stop (graph), node (graph, name), ended (job).
select g.graph, g.generation, s.reason as stop, exists (
  select 1 from towpath.node n join towpath.ended x on x.job = n.job where n.graph = g.graph and n.role & 16 <> 0
) as is_barred
from towpath.graph g
left join towpath.stop s on s.graph = g.graph
where g.graph = any($1::bigint[])
