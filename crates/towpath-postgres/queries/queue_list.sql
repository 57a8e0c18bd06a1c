-- Queues with live work, and those that are paused.
-- Returns queue, ready, later, running, blocked (counts); since when it is paused (us), by whom, why, or nulls; by queue.
-- Reads the hot tables whole. No locks.
-- Index: lane (lane), ready (lane, turnout, seq), pause (queue).
select c.queue, sum(c.ready)::bigint as ready, sum(c.later)::bigint as later, sum(c.running)::bigint as running,
  sum(c.blocked)::bigint as blocked, p.at, p.actor, p.why
from (
  select l.queue, x.ready, x.later, x.running, x.blocked from (
    select lane, count(*) as ready, 0 as later, 0 as running, 0 as blocked from towpath.ready group by lane
    union all select lane, 0, count(*), 0, 0 from towpath.later group by lane
    union all select lane, 0, 0, count(*), 0 from towpath.running where decide = 0 group by lane
    union all select lane, 0, 0, 0, count(*) from towpath.blocked group by lane
  ) x join towpath.lane l on l.lane = x.lane
  union all select queue, 0, 0, 0, 0 from towpath.pause
) c left join towpath.pause p on p.queue = c.queue
group by c.queue, p.at, p.actor, p.why
order by c.queue
