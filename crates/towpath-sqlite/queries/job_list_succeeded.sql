-- Lists jobs that succeeded: most that ended have.
-- ?1 to ?7 as in job_list, ?8 1 for runs only, else 0, ?9 only keys above this.
-- Returns the columns of job_line, newest first.
-- Index: run (job), job (key), lane (lane), ended (job), running (job), blocked (job), later (job),
-- ready (lane, turnout, seq), ready (job), node (job), graph (graph), stop (graph).
select
    l.key, l.id, l.kind, l.queue, l.priority, l.state, l.due, l.attempt, l.failures, l.crashes, l.name, l.graph_id,
    l.enqueued_at, l.started_at, l.ended_at, l.version, l.parked
from ended x
cross join job_line l on l.key = x.job
where x.state = 0
    and x.job < ?1
    and x.job > ?9
    and (?8 = 0 or exists (select 1 from run u where u.job = x.job))
    and (?2 is null or l.state = ?2)
    and (?3 is null or l.queue = ?3)
    and (?4 is null or l.kind = ?4)
    and l.stop is not ?5
    and ifnull(l.role, 0) & ?6 = 0
order by x.job desc
limit ?7
