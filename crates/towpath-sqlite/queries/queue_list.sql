-- Counts live jobs by queue, of paused queues too: what is ready up to ?1 of each lane, what is not due yet up to ?1 in all.
-- ?1 most.
-- Returns queue, ready, later, running with a handler, blocked; since when it is paused (us), by whom, why, or nulls; by
-- queue. Reads all of the small tables.
-- Index: lane (lane), ready (lane, turnout, seq), pause (queue).
select c.queue, sum(c.ready), sum(c.later), sum(c.running), sum(c.blocked), p.at, p.actor, p.why
from (
    select l.queue, x.ready, x.later, x.running, x.blocked from (
    select n.lane, (select count(*) from (select 1 from ready r where r.lane = n.lane limit ?1)) as ready, 0 as later,
        0 as running, 0 as blocked
    from lane n
    union all
    select lane, 0, count(*), 0, 0 from (select lane from later limit ?1) group by lane
    union all
    select lane, 0, 0, count(*), 0 from running where decide = 0 group by lane
    union all
    select lane, 0, 0, 0, count(*) from blocked group by lane
    ) x join lane l on l.lane = x.lane
    where x.ready + x.later + x.running + x.blocked > 0
    union all
    select queue, 0, 0, 0, 0 from pause
) c
left join pause p on p.queue = c.queue
group by c.queue
order by c.queue
