-- Ends the retry of a graph: its next generation begins.
-- $1 bigint graph (key). Returns nothing. Locks: those rows.
-- Index: stop (graph), retry (graph), graph (graph).
with lifted as (
  delete from towpath.stop where graph = $1::bigint
), over as (
  delete from towpath.retry where graph = $1::bigint
)
update towpath.graph set generation = generation + 1 where graph = $1::bigint
