-- Remembers of nodes that they were with a handler, where their counters will not say so.
-- $1 bigint[] jobs (keys). Returns nothing. Locks: the nodes (held already).
-- Index: node (job).
update towpath.node set started = true where job = any($1::bigint[]) and not started
