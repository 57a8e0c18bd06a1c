-- The keys of jobs.
-- $1 uuid[] ids. Returns id, key, graph (key), is_end, run (its id), rules (JSON), in no order. No locks.
-- Index: job (id), node (job), run (job).
select j.id, j.key, j.graph, coalesce(n.role & 8 <> 0, false) as is_end, u.id as run, j.rules
from towpath.job j
left join towpath.node n on n.job = case when j.graph is not null then j.key end
left join towpath.run u on u.job = case when j.run then j.key end
where j.id = any($1::uuid[])
