-- Lists jobs.
-- ?1 only keys below this, ?2 state number or NULL, ?3 queue text or NULL, ?4 kind text or NULL, ?5 the code of the stop
-- that prunes, ?6 the role of nodes to leave out, ?7 most rows.
-- Returns the columns of job_line, newest first. A rare state reads many rows.
-- Index: job (key), lane (lane), ended (job), running (job), blocked (job), later (job), ready (lane, turnout, seq),
-- ready (job), node (job), graph (graph), stop (graph).
select
    key, id, kind, queue, priority, state, due, attempt, failures, crashes, name, graph_id,
    enqueued_at, started_at, ended_at, version, parked
from job_line
where key < ?1
    and (?2 is null or state = ?2)
    and (?3 is null or queue = ?3)
    and (?4 is null or kind = ?4)
    and stop is not ?5
    and ifnull(role, 0) & ?6 = 0
order by key desc
limit ?7
