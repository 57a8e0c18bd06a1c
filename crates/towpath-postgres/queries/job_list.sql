-- Jobs, newest first.
-- $1 bigint only before this key (null for the start), $2 int limit; filters, null for all: $3 smallint state (place in
-- State::ALL), $4 text queue, $5 text kind; $6 bigint only keys above this.
-- Returns key, id, kind, queue, priority, state, due (us), attempt, failures, crashes, graph (id), node, enqueued_at,
-- started_at, ended_at (us), version, parked, by key, descending. No locks.
-- Index: job (key), ended (job), running (job), later (job), blocked (job), node (job), ready (lane, turnout, seq),
-- ready (job), lane (lane), lane (queue, kind, version), graph (graph), stop (graph).
select s.key, s.id, l.kind, l.queue, s.priority, s.state, s.due, s.attempt, s.failures, s.crashes, g.id as graph, s.node,
  s.enqueued_at, s.started_at, s.ended_at, l.version, s.parked
from towpath.job j
-- How it stands is looked up for jobs of the lanes that are asked for only.
cross join lateral (
  select y.key, y.id, y.lane, y.priority, y.graph, y.state, y.due, y.attempt, y.failures, y.crashes, y.node,
    y.enqueued_at, y.started_at, y.ended_at, y.parked
  from towpath.standing y where y.key = j.key offset 0
) s
join towpath.lane l on l.lane = s.lane
left join towpath.graph g on g.graph = s.graph
left join towpath.stop h on h.graph = s.graph and h.reason = 2
where ($1::bigint is null or j.key < $1::bigint) and j.key > $6::bigint and h.graph is null and l.kind <> concat('towpath', '.end')
  and ($4::text is null and $5::text is null or j.lane = any (array(
    select n.lane from towpath.lane n where ($4::text is null or n.queue = $4::text) and ($5::text is null or n.kind = $5::text)
  )))
  -- Names that nobody has ever used need no look at the jobs.
  and exists (
    select from towpath.lane n where ($4::text is null or n.queue = $4::text) and ($5::text is null or n.kind = $5::text)
  )
  and ($3::smallint is null or s.state = $3::smallint)
order by j.key desc
limit $2::int
