-- Which patches live runs have recorded, by function and version, and which of its live runs have not. Reads all that is open.
-- Returns kind, version, bytes of the line, how many runs have it, at of the first: µs, how many have not, enqueued_at of the oldest
-- of these: µs, in this order.
-- Index: entry (run), run (job), ready (lane, turnout, seq), later (job), blocked (job), running (job), undecided (job),
-- graph (graph), node (graph, name), job (key), lane (lane).
with open as (
    select job from ready
    union all select job from later
    union all select job from blocked
    union all select job from running
    union all select job from undecided
    -- Behind parents.
    union all select n.job from graph g join node n on n.graph = g.graph where g."end" is null and n.phase = 0
),
live as (
    select j.key, l.kind, l.version, j.enqueued_at
    from open o
    join job j on j.key = o.job
    join lane l on l.lane = j.lane
    where j.run is not null
),
patched as (
    select l.kind, l.version, e.bytes, count(*) as runs, min(e.at) as first
    from entry e
    join run r on r.job = e.run and r.chapter = e.chapter
    join live l on l.key = e.run
    where substr(e.bytes, 1, 11) = x'7b2270617463686564223a'
    group by l.kind, l.version, e.bytes
)
select p.kind, p.version, p.bytes, p.runs, p.first, count(l.key) as others, min(l.enqueued_at) as oldest
from patched p
left join live l on l.kind = p.kind and l.version = p.version and not exists (
    select 1 from entry e
    join run r on r.job = e.run and r.chapter = e.chapter
    where e.run = l.key and substr(e.bytes, 1, 11) = x'7b2270617463686564223a' and e.bytes = p.bytes
)
group by p.kind, p.version, p.bytes, p.runs, p.first
order by p.kind, p.version, p.bytes
