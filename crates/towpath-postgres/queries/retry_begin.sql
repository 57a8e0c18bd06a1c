-- Notes that a graph is being retried, and makes it run again: its `end` waits, whatever was decided of it and of
-- its undos.
-- $1 bigint graph (key), $2 bigint end (job's key), $3 bigint since (us), $4 bigint due (us), $5 text mode (JSON).
-- Returns nothing. Locks: the graph, the end's node and its other rows (held already).
-- Index: running (job), undecided (job), ended (job), node (job), graph (graph).
with noted as (
  insert into towpath.retry (graph, since, due, mode) values ($1::bigint, $3::bigint, $4::bigint, $5::text)
), held as (
  delete from towpath.running where job = $2::bigint
), over as (
  delete from towpath.undecided where job = $2::bigint
), decided as (
  delete from towpath.ended where job = $2::bigint
), waits as (
  update towpath.node set phase = 0 where job = $2::bigint
)
update towpath.graph set "end" = null, ended_at = null, counts = null, prune_at = null, undoing = null,
  undo_rank = null, rearmed = 0
where graph = $1::bigint
