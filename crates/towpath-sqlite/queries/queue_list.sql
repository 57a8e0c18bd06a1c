-- Counts live jobs by queue, of paused queues too.
-- Returns queue, ready, later, running with a handler, blocked; since when it is paused (us), by whom, why, or nulls; by
-- queue. Reads all of the small tables.
-- Index: lane (lane), pause (queue).
select c.queue, sum(c.ready), sum(c.later), sum(c.running), sum(c.blocked), p.at, p.actor, p.why
from (
    select l.queue, x.ready, x.later, x.running, x.blocked from (
    select lane, count(*) as ready, 0 as later, 0 as running, 0 as blocked from ready group by lane
    union all
    select lane, 0, count(*), 0, 0 from later group by lane
    union all
    select lane, 0, 0, count(*), 0 from running where decide = 0 group by lane
    union all
    select lane, 0, 0, 0, count(*) from blocked group by lane
    ) x join lane l on l.lane = x.lane
    union all
    select queue, 0, 0, 0, 0 from pause
) c
left join pause p on p.queue = c.queue
group by c.queue
order by c.queue
