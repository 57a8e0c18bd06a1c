-- The edges of a graph, those to `end` among them.
-- $1 bigint graph (key). Returns parent, child (keys), verdicts, label, ord (its place), in no order. No locks.
-- Index: node (graph, name), edge (parent, ord).
select e.parent, e.child, e.verdicts, e.label, e.ord
from towpath.edge e
where e.parent = any(array(select job from towpath.node where graph = $1::bigint))
