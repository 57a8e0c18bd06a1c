-- Finds a run that is parked.
-- ?1 run id text.
-- Returns job, lane, turnout, attempt, failures, crashes; one row or none.
-- Index: run (id), later (job).
select t.job, t.lane, t.turnout, t.attempt, t.failures, t.crashes
from run r
join later t on t.job = r.job
where r.id = ?1 and t.parked = 1
