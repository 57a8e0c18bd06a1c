-- Lists jobs.
-- ?1 only keys below this, ?2 state number or NULL, ?3 queue text or NULL, ?4 kind text or NULL, ?5 the code of the stop
-- that prunes, ?6 the role of nodes to leave out, ?7 most rows, ?8 only keys above this.
-- Returns the columns of job_line, newest first. What is rare reads many rows: the keys say how many.
-- Index: job (key), lane (lane), ended (job), running (job), blocked (job), later (job), ready (lane, turnout, seq),
-- ready (job), node (job), graph (graph), stop (graph).
select
    key, id, kind, queue, priority, state, due, attempt, failures, crashes, name, graph_id,
    enqueued_at, started_at, ended_at, version, parked
from job_line
where key < ?1
    and key > ?8
    -- Names that nobody has ever used need no look at the jobs.
    and exists (select 1 from lane n where (?3 is null or n.queue = ?3) and (?4 is null or n.kind = ?4))
    and (?2 is null or state = ?2)
    and (?3 is null or queue = ?3)
    and (?4 is null or kind = ?4)
    and stop is not ?5
    and ifnull(role, 0) & ?6 = 0
order by key desc
limit ?7
