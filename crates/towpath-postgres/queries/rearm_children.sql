-- The children of nodes.
-- $1 bigint[] jobs (keys). Returns job of each, by job. No locks.
-- Index: edge (parent, ord).
select distinct child as job from towpath.edge where parent = any($1::bigint[]) order by child
