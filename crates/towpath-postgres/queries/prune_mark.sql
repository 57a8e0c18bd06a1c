-- Marks a graph as being pruned, whatever held it before.
-- $1 bigint graph (key). Returns nothing. Locks: the row.
-- Index: stop (graph).
insert into towpath.stop (graph, reason, at, actor, why) values ($1::bigint, 2, towpath.clock(), 'retention', '')
on conflict (graph) do update set reason = 2, due = null
