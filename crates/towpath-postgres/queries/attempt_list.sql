-- The attempts that are kept of a job.
-- $1 uuid id. Returns attempt, outcome, started_at, ended_at (us), error, log, oldest first. No locks.
-- Index: job (id), attempt (job, attempt).
select a.attempt, a.outcome, a.started_at, a.ended_at, a.error, a.log
from towpath.attempt a where a.job = (select key from towpath.job where id = $1::uuid)
order by a.attempt
