-- Jobs that succeeded, newest first, of all queues and kinds. Each is looked at by itself, until there are enough: most that ended have
-- succeeded.
-- $1 bigint only before this key (null for the start), $2 int limit, $3 bool runs only, $4 bigint only keys above this.
-- Returns what job_list returns. No locks.
-- Index: run (job), job (key), ended (job), running (job), later (job), blocked (job), node (job),
-- ready (lane, turnout, seq), ready (job), lane (lane), graph (graph), stop (graph).
select s.key, s.id, l.kind, l.queue, s.priority, s.state, s.due, s.attempt, s.failures, s.crashes, g.id as graph, s.node,
  s.enqueued_at, s.started_at, s.ended_at, l.version, s.parked
from (
  -- In the order of the index: from the jobs, all that are newer would be looked at.
  select x.job from towpath.ended x
  where x.state = 0 and ($1::bigint is null or x.job < $1::bigint) and x.job > $4::bigint
  order by x.job desc offset 0
) x
cross join lateral (
  select y.key, y.id, y.lane, y.priority, y.graph, y.state, y.due, y.attempt, y.failures, y.crashes, y.node,
    y.enqueued_at, y.started_at, y.ended_at, y.parked
  from towpath.standing y where y.key = x.job offset 0
) s
join towpath.lane l on l.lane = s.lane
left join towpath.graph g on g.graph = s.graph
left join towpath.stop h on h.graph = s.graph and h.reason = 2
where (not $3::boolean or exists (select from towpath.run u where u.job = x.job))
  and h.graph is null and l.kind <> concat('towpath', '.end')
order by x.job desc
limit $2::int
