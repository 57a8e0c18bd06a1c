-- Lets nodes wait again that were released.
-- One array element per node: $1 bigint[] jobs (keys), $2 int[] attempts. Returns nothing. Locks: the nodes (held
-- already).
-- Index: node (job).
update towpath.node n set phase = 0, attempt = greatest(n.attempt, i.attempt)
from unnest($1::bigint[], $2::int[]) as i(job, attempt)
where n.job = i.job
