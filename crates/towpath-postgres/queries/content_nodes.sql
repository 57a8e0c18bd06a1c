-- The nodes of a graph as they would be enqueued, `end` left out.
-- $1 bigint graph (key). Returns name, role, need, id, queue, kind, version, priority, delay_us, due_at, deadline, rules,
-- tags, headers, codec, input, run (its id), expired (whether the deadline has passed), guards
-- (the name of what it undoes), job (key), by the job's key. No locks.
-- Index: node (graph, name), job (key), lane (lane), run (job), node (job).
select n.name, n.role, n.need, j.id, l.queue, l.kind, l.version, j.priority, j.delay_us, j.due_at, j.deadline, j.rules,
  j.tags, j.headers, j.codec, j.input, u.id as run, j.deadline <= towpath.clock() as expired,
  (select w.name from towpath.node w where w.job = n.guards) as guards, n.job
from towpath.node n
join towpath.job j on j.key = n.job
join towpath.lane l on l.lane = j.lane
left join towpath.run u on u.job = case when j.run then j.key end
where n.graph = $1::bigint and n.role & 8 = 0
order by n.job
