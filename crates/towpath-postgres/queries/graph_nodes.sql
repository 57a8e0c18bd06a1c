-- The nodes of a graph, `end` left out.
-- $1 bigint graph (key). Returns name, id, kind, queue, role, left, ok, untaken, spoiled, need, eager, cause_rank, state,
-- cause (JSON), attempt, failures, crashes, started_at, ended_at (us), guards (the key of what it undoes), due (us), parked, job (key),
-- enqueued_at (us), by the job's key. No locks.
-- Index: job (key), ended (job), running (job), later (job), blocked (job), ready (lane, turnout, seq), ready (job),
-- node (job), node (graph, name), lane (lane).
select n.name, s.id, l.kind, l.queue, n.role, n."left", n.ok, n.untaken, n.spoiled, n.need, n.eager, n.cause_rank, s.state,
  s.cause, s.attempt, s.failures, s.crashes, s.started_at, s.ended_at, n.guards, s.due, s.parked, n.job, s.enqueued_at
from towpath.standing s
join towpath.node n on n.job = s.key
join towpath.lane l on l.lane = s.lane
-- As an array: joined, the view would be made for every job of the store first.
where s.key = any(array(select job from towpath.node where graph = $1::bigint and role & 8 <> 8))
order by n.job
