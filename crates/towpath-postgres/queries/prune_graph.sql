-- Deletes the last rows of a graph.
-- $1 bigint graph (key). Returns nothing. Index: graph (graph), stop (graph). Locks: those rows.
with held as (
  delete from towpath.stop where graph = $1::bigint
)
delete from towpath.graph where graph = $1::bigint
