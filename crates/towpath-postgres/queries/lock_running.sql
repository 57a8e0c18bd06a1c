-- Locks running jobs, before an order judges them.
-- $1 bigint[] jobs (keys). Returns job of each with a handler, by job. Locks: those rows, in the
-- order of their keys.
-- Index: running (job).
select job, decide from towpath.running where job = any($1::bigint[]) order by job for update
