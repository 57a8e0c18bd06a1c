-- Which nodes wait for their parents.
-- $1 bigint[] jobs (keys). Returns job, in no order. No locks: the nodes are locked already.
-- Index: node (job).
select job from towpath.node where job = any($1::bigint[]) and phase = 0
