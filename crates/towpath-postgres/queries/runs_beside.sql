-- The runs in the graphs of jobs.
-- $1 bigint[] jobs (keys). Returns id, in no order. No locks.
-- Index: job (key), node (graph, name), run (job).
select distinct u.id
from towpath.job j
join towpath.node n on n.graph = j.graph
join towpath.run u on u.job = n.job
where j.key = any($1::bigint[])
