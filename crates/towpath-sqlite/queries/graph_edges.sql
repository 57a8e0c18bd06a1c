-- Shows the edges of a graph.
-- ?1 graph key number, ?2 the role of the node whose edges to leave out.
-- Returns parent name, child name, verdicts, label, by place.
-- Index: node (graph, name), edge (parent, ord), node (job).
select p.name, c.name, e.verdicts, e.label
from node p
join edge e on e.parent = p.job
join node c on c.job = e.child
where p.graph = ?1 and c.role & ?2 = 0
order by e.ord
