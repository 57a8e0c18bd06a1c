-- The edges of a graph.
-- $1 bigint graph (key). Returns parent, child (keys of jobs), verdicts, in no order. No locks.
-- Index: node (graph, name), edge (parent, ord).
select e.parent, e.child, e.verdicts from towpath.node p join towpath.edge e on e.parent = p.job where p.graph = $1::bigint
