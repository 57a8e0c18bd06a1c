-- The edges of a graph, those to `end` left out.
-- $1 bigint graph (key). Returns parent, child (names), verdicts, label, by place. No locks.
-- Index: node (graph, name), edge (parent, ord), node (job).
select p.name as parent, c.name as child, e.verdicts, e.label
from towpath.node p
join towpath.edge e on e.parent = p.job
join towpath.node c on c.job = e.child
where p.graph = $1::bigint and c.role & 8 = 0
order by e.ord
