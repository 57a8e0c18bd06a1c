-- Locks a worker that leaves, waiting for its turn to be over.
-- $1 uuid incarnation. Returns worker (key), now (us), or no row. Locks: the worker's row.
-- Index: worker (incarnation).
select worker, towpath.clock() as now from towpath.worker where incarnation = $1::uuid for update
