-- Where jobs stand.
-- $1 bigint[] jobs (keys). Returns key, state (place in State::ALL), decide (of a running row), in no order.
-- No locks.
-- Index: job (key), ended (job), running (job), later (job), blocked (job), ready (job), node (job).
select key, state, decide from towpath.standing where key = any($1::bigint[])
