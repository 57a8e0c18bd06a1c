-- Deletes the last rows of a graph.
-- $1 bigint graph (key). Returns nothing. Locks: those rows.
-- Index: stop (graph), graph (graph), unique_key (job).
with held as (
  delete from towpath.stop where graph = $1::bigint
), kept as (
  delete from towpath.unique_key where job = $1::bigint and (until_at is null or until_at <= towpath.clock())
)
delete from towpath.graph where graph = $1::bigint
