-- Lists runs.
-- ?1 to ?8 as in job_list.
-- Returns the columns of job_line, newest first.
-- Index: run (job), job (key), lane (lane), ended (job), running (job), blocked (job), later (job),
-- ready (lane, turnout, seq), ready (job), node (job), graph (graph), stop (graph).
select
    l.key, l.id, l.kind, l.queue, l.priority, l.state, l.due, l.attempt, l.failures, l.crashes, l.name, l.graph_id,
    l.enqueued_at, l.started_at, l.ended_at, l.version, l.parked
from run u
cross join job_line l on l.key = u.job
where u.job < ?1
    and u.job > ?8
    and (?2 is null or l.state = ?2)
    and (?3 is null or l.queue = ?3)
    and (?4 is null or l.kind = ?4)
    and l.stop is not ?5
    and ifnull(l.role, 0) & ?6 = 0
order by u.job desc
limit ?7
