-- Finds a graph that is to gain nodes.
-- ?1 id bytes.
-- Returns graph, nodes, edges, the job key of its end, undo_rank; one row or none.
-- Index: graph (id), node (graph, name).
select g.graph, g.nodes, g.edges, n.job, g.undo_rank
from graph g
join node n on n.graph = g.graph and n.name = 'end'
where g.id = ?1
