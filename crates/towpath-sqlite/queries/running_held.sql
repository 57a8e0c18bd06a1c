-- Finds a job under its claim.
-- ?1 job key, ?2 worker key, ?3 turn, ?4 idx: numbers.
-- Returns what job_facts does, then decide, attempt, failures, crashes, started_at, cancel; one row or none.
-- Index: running (job), job (key).
select
    j.key, j.id, j.lane, j.priority, j.deadline, j.graph, j.delay_us, j.due_at,
    r.decide, r.attempt, r.failures, r.crashes, r.started_at, r.cancel
from running r
join job j on j.key = r.job
where r.job = ?1 and r.worker = ?2 and r.turn = ?3 and r.idx = ?4
