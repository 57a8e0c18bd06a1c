-- Lists nodes that wait for their parents: those of graphs that have not ended.
-- ?1 to ?7 as in job_list, with the state set, ?8 1 for runs only, else 0, ?9 only keys above
-- this.
-- Returns the columns of job_line, newest first. Reads the nodes of all open graphs, and else only what it returns.
-- Index: graph (graph), node (graph, name), run (job), job (key), lane (lane), ended (job), running (job), blocked (job),
-- later (job), ready (lane, turnout, seq), ready (job), node (job), stop (graph).
with part (job) as (
    select n.job
    from graph g
    cross join node n on n.graph = g.graph
    cross join job j on j.key = n.job
    cross join lane a on a.lane = j.lane
    where g."end" is null
        and n.phase < 2
        and n.role & ?6 = 0
        and n.job < ?1
        and n.job > ?9
        and (?3 is null or a.queue = ?3)
        and (?4 is null or a.kind = ?4)
        and (?8 = 0 or exists (select 1 from run u where u.job = n.job))
        and not exists (select 1 from ended e where e.job = n.job)
        and not exists (select 1 from running r where r.job = n.job and r.decide in (2, 3))
    order by n.job desc
    limit ?7
)
select
    l.key, l.id, l.kind, l.queue, l.priority, l.state, l.due, l.attempt, l.failures, l.crashes, l.name, l.graph_id,
    l.enqueued_at, l.started_at, l.ended_at, l.version, l.parked
from part x
cross join job_line l on l.key = x.job
where l.state = ?2 and l.stop is not ?5 and ifnull(l.role, 0) & ?6 = 0
order by l.key desc
