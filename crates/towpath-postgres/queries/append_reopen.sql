-- Grows a graph and makes it run again: its `end` waits for more parents, whatever was decided of it. What had succeeded
-- stays so.
-- $1 bigint graph (key), $2 bigint end (job's key), $3 int new nodes, $4 int new edges, $5 int new edges to `end`, $6 bigint the
-- first new node (key).
-- Returns nothing. Locks: the graph, the end's node and its other rows.
-- Index: running (job), undecided (job), ended (job), node (job), graph (graph).
with held as (
  delete from towpath.running where job = $2::bigint
), over as (
  delete from towpath.undecided where job = $2::bigint
), decided as (
  delete from towpath.ended where job = $2::bigint
), waits as (
  update towpath.node set "left" = "left" + $5::int, phase = 0 where job = $2::bigint
)
update towpath.graph
set nodes = nodes + $3::int, edges = edges + $4::int, committed = case when coalesce(undoing, "end") = 0 then $6::bigint else committed end, undoing = null, "end" = null,
  ended_at = null, counts = null, prune_at = null
where graph = $1::bigint
