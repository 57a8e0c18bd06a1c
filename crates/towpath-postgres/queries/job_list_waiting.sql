-- Nodes that wait for their parents, newest first: those of graphs that have not ended.
-- $1 to $5 as in job_list, with the state set, $6 bool runs only, $7 bigint only keys above this.
-- Returns what job_list returns. Reads the nodes of all open graphs, and else only what it returns. No locks.
-- Index: graph (graph), node (graph, name), run (job), job (key), ended (job), running (job), later (job), blocked (job),
-- node (job), ready (lane, turnout, seq), ready (job), lane (lane), stop (graph).
with part as materialized (
  select n.job
  from towpath.graph o
  join towpath.node n on n.graph = o.graph
  join towpath.job j on j.key = n.job
  join towpath.lane a on a.lane = j.lane
  where o."end" is null and n.phase < 2 and a.kind <> concat('towpath', '.end')
    and ($1::bigint is null or n.job < $1::bigint) and n.job > $7::bigint
    and ($4::text is null or a.queue = $4::text)
    and ($5::text is null or a.kind = $5::text)
    and (not $6::boolean or exists (select from towpath.run u where u.job = n.job))
    and not exists (select from towpath.ended e where e.job = n.job)
    and not exists (select from towpath.running r where r.job = n.job and r.decide in (2, 3))
  order by n.job desc
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
