-- Lists jobs with tags.
-- ?1 to ?7 as in job_list, ?8 a tag text, ?9 all that are asked for, as a JSON list, ?10 1 for runs only, else 0, ?11 id of a graph,
-- bytes or NULL, ?12 only keys above this.
-- Returns the columns of job_line, newest first. A rare state reads many rows of that tag.
-- Index: tag (tag, job), tag (job, tag), run (job), job (key), lane (lane), ended (job), running (job), blocked (job),
-- later (job), ready (lane, turnout, seq), ready (job), node (job), graph (graph), stop (graph).
select
    l.key, l.id, l.kind, l.queue, l.priority, l.state, l.due, l.attempt, l.failures, l.crashes, l.name, l.graph_id,
    l.enqueued_at, l.started_at, l.ended_at, l.version, l.parked
from tag t
cross join job_line l on l.key = t.job
where t.tag = ?8 and t.job < ?1 and t.job > ?12
    and not exists (
        select 1 from json_each(?9) w
        where not exists (select 1 from tag o where o.job = t.job and o.tag = w.value))
    and (?10 = 0 or exists (select 1 from run u where u.job = t.job))
    and (?2 is null or l.state = ?2)
    and (?3 is null or l.queue = ?3)
    and (?4 is null or l.kind = ?4)
    and (?11 is null or l.graph_id = ?11)
    and l.stop is not ?5
    and ifnull(l.role, 0) & ?6 = 0
order by t.job desc
limit ?7
