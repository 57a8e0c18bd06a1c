-- Queues with live work.
-- Returns queue, ready, later, running, blocked (counts), by queue. Reads the hot tables whole. No locks.
-- Index: lane (queue, kind, version), ready (lane, turnout, seq).
select l.queue, sum(c.ready)::bigint as ready, sum(c.later)::bigint as later, sum(c.running)::bigint as running,
  sum(c.blocked)::bigint as blocked
from (
  select lane, count(*) as ready, 0 as later, 0 as running, 0 as blocked from towpath.ready group by lane
  union all select lane, 0, count(*), 0, 0 from towpath.later group by lane
  union all select lane, 0, 0, count(*), 0 from towpath.running where decide = 0 group by lane
  union all select lane, 0, 0, 0, count(*) from towpath.blocked group by lane
) c join towpath.lane l on l.lane = c.lane
group by l.queue
order by l.queue
