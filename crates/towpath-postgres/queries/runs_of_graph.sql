-- The runs among the nodes of a graph.
-- $1 bigint graph (key), $2 smallint bits of the role that is spared. Returns job (key), id, by job. No locks.
-- Index: node (graph, name), run (job).
select u.job, u.id
from towpath.node n join towpath.run u on u.job = n.job
where n.graph = $1::bigint and n.role & $2::smallint = 0
order by u.job
