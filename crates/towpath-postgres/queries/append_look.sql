-- Looks at a locked graph: its stop, and which of the names are taken.
-- $1 bigint graph (key), $2 text[] names.
-- Returns one row: stop (reason or null), names[] and ids[] of the nodes that have them. No locks.
-- Index: stop (graph), node (graph, name), job (key).
select (select reason from towpath.stop where graph = $1::bigint) as stop,
  coalesce(array_agg(n.name), '{}') as names, coalesce(array_agg(j.id), '{}') as ids
from towpath.node n join towpath.job j on j.key = n.job
where n.graph = $1::bigint and n.name = any($2::text[])
