-- Counts a graph's ended nodes by how they ended and what they are to it.
-- ?1 graph key number, ?2 the role of the node to leave out.
-- Returns state, role, nodes, by state and role.
-- Index: node (graph, name), ended (job).
select e.state, n.role, count(*)
from node n
join ended e on e.job = n.job
where n.graph = ?1 and n.role & ?2 = 0
group by e.state, n.role
order by e.state, n.role
