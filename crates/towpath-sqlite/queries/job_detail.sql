-- Shows one job.
-- ?1 id bytes, ?2 the code of the stop that prunes.
-- Returns the columns of job_line, then codec, input, rules, deadline, tags, headers, cause, codec and bytes of
-- the output, incarnation and cancel while it runs with a handler, why it is blocked, id, chapter, entries and
-- how many arrivals of its run, who has paused it (JSON), where it was
-- forked from (JSON), then attempt, at µs and body (JSON) of its progress; one row or none.
-- Index: job (id), job (key), lane (lane), ended (job), running (job), blocked (job), later (job),
-- ready (lane, turnout, seq), ready (job), node (job), graph (graph), stop (graph), output (job), worker (worker),
-- run (job), arrival (run, seq), progress (job).
select
    l.key, l.id, l.kind, l.queue, l.priority, l.state, l.due, l.attempt, l.failures, l.crashes, l.name, l.graph_id,
    l.enqueued_at, l.started_at, l.ended_at, l.version, l.parked,
    j.codec, j.input, j.rules, j.deadline, j.tags, j.headers, e.cause, o.codec, o.bytes,
    w.incarnation, r.cancel, b.reason,
    u.id, u.chapter, u.entries, (select count(*) from arrival a where a.run = u.id),
    u.paused, u.origin, p.attempt, p.at, p.body
from job j
join job_line l on l.key = j.key
left join ended e on e.job = j.key
left join output o on o.job = j.key
left join running r on r.job = j.key and r.decide = 0
left join worker w on w.worker = r.worker
left join blocked b on b.job = j.key
left join run u on u.job = j.key
left join progress p on p.job = j.key
where j.id = ?1 and l.stop is not ?2
