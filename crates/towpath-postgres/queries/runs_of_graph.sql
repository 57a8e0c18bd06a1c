-- The runs among the nodes of a graph.
-- $1 bigint graph (key), $2 smallint bits of the role that is spared. Returns job (key), id, by job. No locks.
-- Index: job (graph), node (job), run (job).
select u.job, u.id
from towpath.job j join towpath.node n on n.job = j.key join towpath.run u on u.job = j.key
where j.graph = $1::bigint and j.run and n.role & $2::smallint = 0
order by u.job
