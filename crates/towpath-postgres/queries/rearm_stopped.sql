-- Takes nodes back that came for a decision about the stop of their graph.
-- $1 bigint[] jobs (keys). Returns job, attempt, in no order. Locks: those rows (held already).
-- Index: running (job).
delete from towpath.running where job = any($1::bigint[]) and decide = 2 returning job, attempt
