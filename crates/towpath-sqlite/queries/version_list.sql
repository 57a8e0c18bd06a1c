-- Counts the work of each kind and version that has not ended. Reads all that is open.
-- ?1 the kind of what ends graphs, left out.
-- Returns kind, version, how many jobs, how many of them are runs, enqueued_at of the oldest: µs, by kind, then by version.
-- Index: ready (lane, turnout, seq), later (job), blocked (job), running (job), undecided (job), graph (graph),
-- node (graph, name), job (key), lane (lane).
with open as (
    select job from ready
    union all select job from later
    union all select job from blocked
    union all select job from running
    union all select job from undecided
    -- Behind parents.
    union all select n.job from graph g join node n on n.graph = g.graph where g."end" is null and n.phase = 0
)
select l.kind, l.version, count(*), count(j.run), min(j.enqueued_at)
from open o
join job j on j.key = o.job
join lane l on l.lane = j.lane
where l.kind <> ?1
group by l.kind, l.version
order by l.kind, l.version
