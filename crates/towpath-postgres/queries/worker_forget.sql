-- Forgets workers that hold nothing.
-- $1 bigint[] workers (keys). Returns worker of each that is gone.
-- Locks: those rows (held already).
-- Index: worker (worker), running (worker, turn), lease (worker).
with gone as (
  delete from towpath.worker w where w.worker = any($1::bigint[])
    and not exists (select 1 from towpath.running r where r.worker = w.worker)
  returning worker
), over as (
  delete from towpath.lease where worker = any(array(select worker from gone))
)
select worker from gone
