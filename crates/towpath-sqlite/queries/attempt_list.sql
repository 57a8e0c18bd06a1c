-- Lists the attempts that are kept of a job.
-- ?1 id bytes, ?2 the code of the stop that prunes.
-- Returns attempt, outcome, started_at, ended_at, error, log, by attempt.
-- Index: job (id), stop (graph), attempt (job, attempt).
select a.attempt, a.outcome, a.started_at, a.ended_at, a.error, a.log
from job j
join attempt a on a.job = j.key
where j.id = ?1 and not exists (select 1 from stop s where s.graph = j.graph and s.reason = ?2)
order by a.attempt
