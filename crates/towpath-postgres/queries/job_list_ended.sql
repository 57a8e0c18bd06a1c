-- Jobs of one end that is not success, newest first. Each is looked at by itself, in the order of the index, until there
-- are enough.
-- $1 to $5 as in job_list, $6 smallint the code of the end, $7 bool runs only, $8 bigint only keys above this.
-- Returns what job_list returns. No locks.
-- Index: ended (state, job), run (job), job (key), ended (job), running (job), later (job), blocked (job), node (job),
-- ready (lane, turnout, seq), ready (job), lane (lane), lane (queue, kind, version), graph (graph), stop (graph).
select s.key, s.id, l.kind, l.queue, s.priority, s.state, s.due, s.attempt, s.failures, s.crashes, g.id as graph, s.node,
  s.enqueued_at, s.started_at, s.ended_at, l.version, s.parked
from (
  -- In the order of the index: from the jobs, all that are newer would be looked at.
  select x.job from towpath.ended x
  where x.state = $6::smallint and x.state <> 0 and ($1::bigint is null or x.job < $1::bigint) and x.job > $8::bigint
  order by x.state desc, x.job desc offset 0
) x
-- How it stands is looked up for jobs of the lanes that are asked for only.
join towpath.job j on j.key = x.job
cross join lateral (
  select y.key, y.id, y.lane, y.priority, y.graph, y.state, y.due, y.attempt, y.failures, y.crashes, y.node,
    y.enqueued_at, y.started_at, y.ended_at, y.parked
  from towpath.standing y where y.key = x.job offset 0
) s
join towpath.lane l on l.lane = s.lane
left join towpath.graph g on g.graph = s.graph
left join towpath.stop h on h.graph = s.graph and h.reason = 2
where ($3::smallint is null or s.state = $3::smallint)
  and (not $7::boolean or exists (select from towpath.run u where u.job = x.job))
  and h.graph is null and l.kind <> concat('towpath', '.end')
  and ($4::text is null and $5::text is null or j.lane = any (array(
    select n.lane from towpath.lane n where ($4::text is null or n.queue = $4::text) and ($5::text is null or n.kind = $5::text)
  )))
order by x.job desc
limit $2::int
