-- How the nodes of graphs ended, `end` left out.
-- $1 bigint[] graphs (keys). Returns graph, state (end's code), role, nodes (count), by graph, state, role.
-- No locks.
-- Index: node (graph, name), ended (job).
select n.graph, x.state, n.role, count(*) as nodes
from towpath.node n join towpath.ended x on x.job = n.job
where n.graph = any($1::bigint[]) and n.role & 8 = 0
group by n.graph, x.state, n.role
order by n.graph, x.state, n.role
