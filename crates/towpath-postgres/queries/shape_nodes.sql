-- What a plan asks of the nodes of a graph, `end` left out.
-- $1 bigint graph (key). Returns job (key), id, name, role, state, cause (JSON), ended_at (us), guards (job),
-- by job.
-- No locks.
-- Index: node (graph, name), job (key), ended (job).
select n.job, j.id, n.name, n.role, x.state, x.cause, x.ended_at, n.guards
from towpath.node n
join towpath.job j on j.key = n.job
left join towpath.ended x on x.job = n.job
where n.graph = $1::bigint and n.role & 8 = 0
order by n.job
