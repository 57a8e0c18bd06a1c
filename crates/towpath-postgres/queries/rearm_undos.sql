-- Keeps undos again until their graph has failed or was cancelled; its `end` waits for them no more.
-- $1 bigint[] undos (keys), $2 bigint end (job's key). Returns nothing. Locks: the end's node and the edges (nobody else's
-- without it).
-- Index: node (job), edge (parent, ord).
with kept as (
  insert into towpath.undo (graph, rank, job)
  select graph, depth, job from towpath.node where job = any($1::bigint[])
), gone as (
  delete from towpath.edge where parent = any($1::bigint[]) returning parent
)
update towpath.node set "left" = "left" - (select count(*) from gone) where job = $2::bigint
