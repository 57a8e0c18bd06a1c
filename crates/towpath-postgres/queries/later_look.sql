-- Looks at the jobs whose time has come, for a turn that moves them job by job.
-- $1 bigint now (us), $2 int limit.
-- Returns job (key), lane, turnout, attempt, failures, crashes, whether it is a node, rules (JSON), by due and job.
-- Locks: the rows; locked ones are skipped.
-- Index: later (due, job), job (key).
with due as materialized (
  select job, due, lane, turnout, attempt, failures, crashes
  from towpath.later
  where due <= $1::bigint
  order by due, job
  limit $2::int
  for update skip locked
)
select d.job, d.lane, d.turnout, d.attempt, d.failures, d.crashes, j.graph is not null as is_node,
  j.rules
from due d join towpath.job j on j.key = d.job
order by d.due, d.job
