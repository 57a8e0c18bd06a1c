-- Reads what a plan asks of the nodes of a graph.
-- ?1 graph key, ?2 the role of the node to leave out: numbers.
-- Returns job, id, name, role, if it has ended state, cause, ended_at, and the key of what it undoes; by job.
-- Index: node (graph, name), job (key), ended (job).
select n.job, j.id, n.name, n.role, e.state, e.cause, e.ended_at, n.guards
from node n
join job j on j.key = n.job
left join ended e on e.job = n.job
where n.graph = ?1 and n.role & ?2 = 0
order by n.job
