-- Counts the work of each kind and version that has not ended: what is ready up to a number of each lane. All jobs of a lane are
-- runs or none is, and the lowest key is taken for the oldest job.
-- ?1 the kind of what ends graphs, left out, ?2 most ready jobs that are counted of a lane.
-- Returns kind, version, how many jobs, how many of them are runs, enqueued_at of the oldest: µs, by kind, then by version.
-- Index: lane (lane), ready (lane, turnout, seq), later (job), blocked (job), running (job), undecided (job), graph (graph),
-- node (graph, name), job (key).
with open (lane, jobs, first) as (
    select
        n.lane,
        (select count(*) from (select 1 from ready r where r.lane = n.lane limit ?2)),
        (select min(job) from (select r.job from ready r where r.lane = n.lane limit ?2))
    from lane n
    union all select lane, count(*), min(job) from later group by lane
    union all select lane, count(*), min(job) from blocked group by lane
    union all select lane, count(*), min(job) from running group by lane
    union all select j.lane, count(*), min(j.key) from undecided u join job j on j.key = u.job group by j.lane
    -- Behind parents.
    union all
    select j.lane, count(*), min(j.key)
    from graph g join node n on n.graph = g.graph join job j on j.key = n.job
    where g."end" is null and n.phase = 0
    group by j.lane
)
select l.kind, l.version, sum(o.jobs), sum(case when j.run is null then 0 else o.jobs end), min(j.enqueued_at)
from open o
join lane l on l.lane = o.lane
join job j on j.key = o.first
where l.kind <> ?1
group by l.kind, l.version
order by l.kind, l.version
