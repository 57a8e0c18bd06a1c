-- Jobs that run, are blocked, or are ready, newest first, from the small tables in which those stand.
-- $1 to $5 as in job_list, with the state set, $6 bool runs only, $7 bigint only keys above this.
-- Returns what job_list returns. Reads the tables of that state whole, and else only what it returns. No locks.
-- Index: run (job), job (key), ended (job), running (job), later (job), blocked (job), node (job),
-- ready (lane, turnout, seq), ready (job), lane (lane), graph (graph), stop (graph).
with live as (
  select job, lane from towpath.running where $3::smallint = 3 and decide = 0
  union all select job, lane from towpath.running where $3::smallint = 1 and decide in (2, 3)
  union all select job, lane from towpath.blocked where $3::smallint = 2
  union all select job, lane from towpath.later where $3::smallint = 1
  union all select job, lane from towpath.ready where $3::smallint = 1
), part as materialized (
  select x.job from live x join towpath.lane n on n.lane = x.lane
  where ($1::bigint is null or x.job < $1::bigint) and x.job > $7::bigint
    and ($4::text is null or n.queue = $4::text)
    and ($5::text is null or n.kind = $5::text)
    and (not $6::boolean or exists (select from towpath.run u where u.job = x.job))
  order by x.job desc
  limit $2::int
)
select s.key, s.id, l.kind, l.queue, s.priority, s.state, s.due, s.attempt, s.failures, s.crashes, g.id as graph, s.node,
  s.enqueued_at, s.started_at, s.ended_at, l.version, s.parked
from part x
cross join lateral (select y.key, y.id, y.lane, y.priority, y.graph, y.state, y.due, y.attempt, y.failures, y.crashes, y.node,
    y.enqueued_at, y.started_at, y.ended_at, y.parked from towpath.standing y where y.key = x.job offset 0) s
join towpath.lane l on l.lane = s.lane
left join towpath.graph g on g.graph = s.graph
left join towpath.stop h on h.graph = s.graph and h.reason = 2
where h.graph is null and l.kind <> concat('towpath', '.end') and s.state = $3::smallint
order by s.key desc
