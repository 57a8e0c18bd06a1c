-- Reads the nodes of a graph as they would be enqueued.
-- ?1 graph key, ?2 the role of the node to leave out: numbers.
-- Returns name, role, need, id, queue, kind, version, priority, delay_us, due_at, deadline, rules, tags, headers, codec,
-- input, the id of the run, the name of what it undoes; by job.
-- Index: node (graph, name), job (key), lane (lane), run (job), node (job).
select
    n.name, n.role, n.need, j.id, l.queue, l.kind, l.version, j.priority, j.delay_us, j.due_at, j.deadline, j.rules,
    j.tags, j.headers, j.codec, j.input, r.id,
    (select w.name from node w where w.job = n.guards)
from node n
join job j on j.key = n.job
join lane l on l.lane = j.lane
left join run r on r.job = n.job
where n.graph = ?1 and n.role & ?2 = 0
order by n.job
