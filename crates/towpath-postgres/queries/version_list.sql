-- How much work of each kind and version has not ended. Reads all that is open.
-- $1 text kind of what ends graphs, left out.
-- Returns kind, version, how many jobs, how many of them are runs, enqueued_at of the oldest (us), by kind, then by version. No locks.
-- Index: ready (lane, turnout, seq), later (job), blocked (job), running (job), undecided (job), graph (graph),
-- node (graph, name), job (key), lane (lane).
with open as (
  select job from towpath.ready
  union all select job from towpath.later
  union all select job from towpath.blocked
  union all select job from towpath.running
  union all select job from towpath.undecided
  -- Behind parents.
  union all select n.job from towpath.graph g join towpath.node n on n.graph = g.graph where g."end" is null and n.phase = 0
)
select l.kind, l.version, count(*) as jobs, count(j.run) as runs, min(j.enqueued_at) as oldest
from open o
join towpath.job j on j.key = o.job
join towpath.lane l on l.lane = j.lane
where l.kind <> $1::text
group by l.kind, l.version
order by l.kind, l.version
