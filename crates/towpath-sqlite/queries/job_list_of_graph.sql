-- Lists jobs of a graph.
-- ?1 to ?7 as in job_list, ?8 id of the graph, bytes, ?9 1 for runs only, else 0, ?10 only keys
-- above this.
-- Returns the columns of job_line, newest first.
-- Index: run (job), graph (id), node (graph, name), job (key), lane (lane), ended (job), running (job), blocked (job),
-- later (job), ready (lane, turnout, seq), ready (job), node (job), graph (graph), stop (graph).
select
    l.key, l.id, l.kind, l.queue, l.priority, l.state, l.due, l.attempt, l.failures, l.crashes, l.name, l.graph_id,
    l.enqueued_at, l.started_at, l.ended_at, l.version, l.parked
from graph g
join node n on n.graph = g.graph
join job_line l on l.key = n.job
where g.id = ?8
    and n.job < ?1
    and n.job > ?10
    and (?9 = 0 or exists (select 1 from run u where u.job = n.job))
    and (?2 is null or l.state = ?2)
    and (?3 is null or l.queue = ?3)
    and (?4 is null or l.kind = ?4)
    and l.stop is not ?5
    and n.role & ?6 = 0
order by n.job desc
limit ?7
