-- Deletes the last rows of a graph.
-- $1 bigint graph (key). Returns nothing. Locks: those rows.
-- Index: stop (graph), graph (graph).
with held as (
  delete from towpath.stop where graph = $1::bigint
)
delete from towpath.graph where graph = $1::bigint
