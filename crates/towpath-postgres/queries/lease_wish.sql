-- Notes what is asked of a worker.
-- $1 uuid incarnation, $2 text wish (JSON). Returns worker; one row or none. Locks: the lease's row.
-- Index: worker (incarnation), lease (worker).
update towpath.lease set wish = $2::text where worker = (select worker from towpath.worker where incarnation = $1::uuid)
returning worker
