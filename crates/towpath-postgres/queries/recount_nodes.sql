-- Locks the nodes of a graph.
-- $1 bigint graph (key). Returns job, by job. Locks: the nodes, in the order of their keys.
-- Index: node (graph, name).
select job from towpath.node where graph = $1::bigint order by job for update
