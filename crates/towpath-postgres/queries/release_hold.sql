-- Keeps undecided nodes for whoever claims decisions.
-- $1 bigint[] jobs (keys). Returns nothing. Locks: the nodes (held already).
-- Index: node (job).
with marked as (
  update towpath.node set phase = 1 where job = any($1::bigint[])
)
insert into towpath.undecided (job) select unnest($1::bigint[])
