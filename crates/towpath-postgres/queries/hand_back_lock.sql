-- Locks what a worker is to hand back. What its own turn is settling is skipped.
-- $1 bigint worker, $2 bigint[] jobs (keys). Returns job, id, decide, cancel, graph (key), attempt, failures, crashes,
-- started_at (us), rules, by job. Locks: those rows; locked ones are skipped.
-- Index: running (worker, turn), job (key), running (job).
select job, id, decide, cancel, graph, attempt, failures, crashes, started_at,
  (select rules from towpath.job where key = job) as rules
from towpath.running where worker = $1::bigint and job = any($2::bigint[])
order by job
for update skip locked
