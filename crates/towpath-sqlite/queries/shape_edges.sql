-- Reads the edges of a graph.
-- ?1 graph key number.
-- Returns parent, child (keys of jobs), verdicts, in no order.
-- Index: node (graph, name), edge (parent, ord).
select e.parent, e.child, e.verdicts from node p join edge e on e.parent = p.job where p.graph = ?1
