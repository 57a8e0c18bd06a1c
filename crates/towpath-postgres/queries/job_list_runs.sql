-- Runs, newest first. Each is looked at by itself: joined, all jobs of the store would be looked at.
-- $1 to $6 as in job_list. Returns what job_list returns. No locks.
-- Index: run (job), job (key), ended (job), running (job), later (job), blocked (job), node (job),
-- ready (lane, turnout, seq), ready (job), lane (lane), graph (graph), stop (graph).
select s.key, s.id, l.kind, l.queue, s.priority, s.state, s.due, s.attempt, s.failures, s.crashes, g.id as graph, s.node,
  s.enqueued_at, s.started_at, s.ended_at, l.version, s.parked
from towpath.run x
cross join lateral (
  select y.key, y.id, y.lane, y.priority, y.graph, y.state, y.due, y.attempt, y.failures, y.crashes, y.node,
    y.enqueued_at, y.started_at, y.ended_at, y.parked
  from towpath.standing y where y.key = x.job offset 0
) s
join towpath.lane l on l.lane = s.lane
left join towpath.graph g on g.graph = s.graph
left join towpath.stop h on h.graph = s.graph and h.reason = 2
where ($1::bigint is null or x.job < $1::bigint) and x.job > $6::bigint
  and h.graph is null and l.kind <> concat('towpath', '.end')
  and ($3::smallint is null or s.state = $3::smallint)
  and ($4::text is null or l.queue = $4::text)
  and ($5::text is null or l.kind = $5::text)
order by x.job desc
limit $2::int
