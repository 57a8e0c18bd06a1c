-- How much work of each kind and version has not ended: what is ready is counted up to a number of each lane. All jobs of a lane are
-- runs or none is, and the lowest key is taken for the oldest job.
-- $1 text kind of what ends graphs, left out, $2 bigint most ready jobs that are counted of a lane.
-- Returns kind, version, how many jobs, how many of them are runs, enqueued_at of the oldest (us), by kind, then by version. No locks.
-- Index: lane (lane), ready (lane, turnout, seq), later (job), blocked (job), running (job), undecided (job), graph (graph),
-- node (graph, name), job (key).
with open as (
  select n.lane, r.jobs, r.first
  from towpath.lane n
  cross join lateral (
    select count(*) as jobs, min(few.job) as first
    from (select r.job from towpath.ready r where r.lane = n.lane order by r.lane, r.turnout, r.seq limit $2::bigint) few
  ) r
  union all select lane, count(*), min(job) from towpath.later where ctid > '(0,0)' group by lane
  union all select lane, count(*), min(job) from towpath.blocked group by lane
  union all select lane, count(*), min(job) from towpath.running where ctid > '(0,0)' group by lane
  union all select j.lane, count(*), min(j.key) from towpath.undecided u join towpath.job j on j.key = u.job group by j.lane
  -- Behind parents.
  union all
  select j.lane, count(*), min(j.key)
  from towpath.graph g join towpath.node n on n.graph = g.graph join towpath.job j on j.key = n.job
  where g."end" is null and n.phase = 0
  group by j.lane
)
select l.kind, l.version, sum(o.jobs)::bigint as jobs,
  sum(case when j.run is null then 0 else o.jobs end)::bigint as runs, min(j.enqueued_at) as oldest
from open o
join towpath.lane l on l.lane = o.lane
join towpath.job j on j.key = o.first
where l.kind <> $1::text
group by l.kind, l.version
order by l.kind, l.version
