-- The nodes of a graph, `end` left out.
-- $1 bigint graph (key). Returns name, id, kind, queue, role, left, ok, untaken, spoiled, need, eager, cause_rank, state,
-- cause (JSON), attempt, failures, crashes, started_at, ended_at (us), guards (the name of what it undoes), by the job's key. No locks.
-- Index: job (key), ended (job), running (job), later (job), blocked (job), ready (lane, turnout, seq), ready (job),
-- node (job), node (graph, name), lane (lane).
select n.name, s.id, l.kind, l.queue, n.role, n."left", n.ok, n.untaken, n.spoiled, n.need, n.eager, n.cause_rank, s.state,
  s.cause, s.attempt, s.failures, s.crashes, s.started_at, s.ended_at,
  (select w.name from towpath.node w where w.job = n.guards) as guards, s.due, s.parked
from towpath.node n
join towpath.standing s on s.key = n.job
join towpath.lane l on l.lane = s.lane
where n.graph = $1::bigint and n.role & 8 = 0
order by n.job
