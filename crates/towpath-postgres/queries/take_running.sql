-- Takes jobs from handlers, whatever their workers do.
-- $1 bigint[] jobs (keys). Returns job, attempt, failures, crashes, started_at (us), in no order.
-- Locks: those rows (held already).
-- Index: running (job).
delete from towpath.running where job = any($1::bigint[]) and decide = 0
returning job, attempt, failures, crashes, started_at
