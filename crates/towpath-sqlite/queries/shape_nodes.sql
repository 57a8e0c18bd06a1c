-- Reads what a plan asks of the nodes of a graph.
-- ?1 graph key, ?2 the role of the node to leave out: numbers.
-- Returns job, id, name, role, whether it is a run with a journal, and if it has ended state, cause, ended_at; by job.
-- Index: node (graph, name), job (key), run (job), ended (job).
select n.job, j.id, n.name, n.role, coalesce(u.entries > 0 or u.chapter > 1, 0), e.state, e.cause, e.ended_at
from node n
join job j on j.key = n.job
left join run u on u.job = n.job
left join ended e on e.job = n.job
where n.graph = ?1 and n.role & ?2 = 0
order by n.job
