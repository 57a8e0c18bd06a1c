-- Where jobs stand.
-- $1 bigint[] jobs (keys). Returns key, state (place in State::ALL), decide (of a running row), in no order.
-- Index: primary keys. No locks.
select key, state, decide from towpath.standing where key = any($1::bigint[])
