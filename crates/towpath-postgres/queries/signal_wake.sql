-- Makes parked runs ready, at the end of the head, in the order given. Lock, then look: it comes after the locks of their ids.
-- $1 text[] runs (ids). Returns lane, seq of each that was parked, in no order. Locks: the rows
-- of later, in the order of their keys; waits for another who wakes or promotes one, for that may come to nothing.
-- Index: run (id), later (job), run (job).
with parked as materialized (
  select l.job from towpath.later l
  where l.job = any(array(select r.job from towpath.run r where r.id = any($1::text[]))) and l.parked
  order by l.job for update
), gone as (
  delete from towpath.later where job = any(array(select job from parked)) returning *
), item as materialized (
  select g.lane, g.turnout, nextval('towpath.key') as seq, g.job, g.attempt, g.failures, g.crashes
  from gone g join towpath.run r on r.job = g.job
  order by array_position($1::text[], r.id)
)
insert into towpath.ready (lane, turnout, seq, job, attempt, failures, crashes)
select lane, turnout, seq, job, attempt, failures, crashes from item
returning lane, seq
