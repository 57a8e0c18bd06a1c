-- The keys of a node's parents.
-- $1 uuid job. Returns parents (eight bytes little-endian each, or null). No locks.
-- Index: job (id).
select parents from towpath.job where id = $1::uuid
