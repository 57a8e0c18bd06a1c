-- Lists jobs that run, are blocked, or are ready, from the small tables in which those stand.
-- ?1 to ?7 as in job_list, with the state set, ?8 1 for runs only, else 0, ?9 only keys above
-- this.
-- Returns the columns of job_line, newest first. Reads the tables of that state whole, and nothing else but what it returns.
-- Index: run (job), job (key), lane (lane), ended (job), running (job), blocked (job), later (job),
-- ready (lane, turnout, seq), ready (job), node (job), graph (graph), stop (graph).
with live (job, lane) as (
    select job, lane from running where ?2 = 13 and decide = 0
    union all
    select job, lane from running where ?2 = 11 and decide in (2, 3)
    union all
    select job, lane from blocked where ?2 = 12
    union all
    select job, lane from later where ?2 = 11
    union all
    select job, lane from ready where ?2 = 11
),
part (job) as (
    select x.job
    from live x
    join lane n on n.lane = x.lane
    where x.job < ?1
        and x.job > ?9
        and (?3 is null or n.queue = ?3)
        and (?4 is null or n.kind = ?4)
        and (?8 = 0 or exists (select 1 from run u where u.job = x.job))
    order by x.job desc
    limit ?7
)
select
    l.key, l.id, l.kind, l.queue, l.priority, l.state, l.due, l.attempt, l.failures, l.crashes, l.name, l.graph_id,
    l.enqueued_at, l.started_at, l.ended_at, l.version, l.parked
from part x
cross join job_line l on l.key = x.job
where l.state = ?2 and l.stop is not ?5 and ifnull(l.role, 0) & ?6 = 0
order by l.key desc
