-- Keeps a turn's number and answers, so that it can be repeated.
-- $1 bigint worker (key), $2 bigint turn, $3 bytea a byte per answer.
-- Returns next_due (us or null). Locks: the worker's row.
-- Index: later (due, job), worker (worker).
update towpath.worker set turn = $2::bigint, settled = $3::bytea where worker = $1::bigint
returning nullif((select min(due) from towpath.later), 9223372036854775807) as next_due
