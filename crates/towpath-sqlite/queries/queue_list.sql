-- Counts live jobs by queue.
-- Returns queue, ready, later, running with a handler, blocked, by queue. Reads all of the small tables.
-- Index: lane (lane).
select l.queue, sum(x.ready), sum(x.later), sum(x.running), sum(x.blocked)
from (
    select lane, count(*) as ready, 0 as later, 0 as running, 0 as blocked from ready group by lane
    union all
    select lane, 0, count(*), 0, 0 from later group by lane
    union all
    select lane, 0, 0, count(*), 0 from running where decide = 0 group by lane
    union all
    select lane, 0, 0, 0, count(*) from blocked group by lane
) x
join lane l on l.lane = x.lane
group by l.queue
order by l.queue
