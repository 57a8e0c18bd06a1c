-- Shows the nodes of a graph.
-- ?1 graph key number, ?2 the role of the node to leave out.
-- Returns the columns of job_line, then cause, role, need, eager, left, ok, untaken, spoiled, cause_rank, and the name of what it
-- undoes, by job.
-- Index: node (graph, name), job (key), lane (lane), ended (job), running (job), blocked (job), later (job),
-- ready (lane, turnout, seq), ready (job), node (job), graph (graph).
select
    j.key, j.id, j.kind, j.queue, j.priority, j.state, j.due, j.attempt, j.failures, j.crashes, j.name, j.graph_id,
    j.enqueued_at, j.started_at, j.ended_at, j.version, j.parked,
    e.cause, n.role, n.need, n.eager, n."left", n.ok, n.untaken, n.spoiled, n.cause_rank,
    (select w.name from node w where w.job = n.guards)
from node n
join job_line j on j.key = n.job
left join ended e on e.job = n.job
where n.graph = ?1 and n.role & ?2 = 0
order by n.job
