-- Queues with live work, and those that are paused: what is ready is counted up to $1 of each lane, what is not due yet up to $1 in
-- all.
-- $1 bigint most. Returns queue, ready, later, running, blocked (counts); since when it is paused (us), by whom, why, or nulls; by
-- queue. Reads the hot tables as far. No locks.
-- Index: lane (lane), ready (lane, turnout, seq), pause (queue).
select c.queue, sum(c.ready)::bigint as ready, sum(c.later)::bigint as later, sum(c.running)::bigint as running,
  sum(c.blocked)::bigint as blocked, p.at, p.actor, p.why
from (
  select l.queue, x.ready, x.later, x.running, x.blocked from (
    select n.lane, r.ready, 0 as later, 0 as running, 0 as blocked
    from towpath.lane n
    cross join lateral (
      -- In the order of the index: a lane of few is not to be looked for in all of the table.
      select count(*) as ready
      from (select 1 from towpath.ready r where r.lane = n.lane order by r.lane, r.turnout, r.seq limit $1::bigint) few
    ) r
    union all select lane, 0, count(*), 0, 0 from (select lane from towpath.later where ctid > '(0,0)' limit $1::bigint) few group by lane
    union all select lane, 0, 0, count(*), 0 from towpath.running where decide = 0 group by lane
    union all select lane, 0, 0, 0, count(*) from towpath.blocked group by lane
  ) x join towpath.lane l on l.lane = x.lane
  where x.ready + x.later + x.running + x.blocked > 0
  union all select queue, 0, 0, 0, 0 from towpath.pause
) c left join towpath.pause p on p.queue = c.queue
group by c.queue, p.at, p.actor, p.why
order by c.queue
