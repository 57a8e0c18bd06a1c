-- Makes parked runs ready, at the end of the head. Lock, then look: it comes after the locks of their ids.
-- $1 text[] runs (ids). Returns lane, seq of each that was parked, in no order. Index: run (id), later (job). Locks: the rows
-- of later, in the order of their keys; waits for another who wakes or promotes one, for that may come to nothing.
with parked as materialized (
  select l.job from towpath.later l
  where l.job = any(array(select r.job from towpath.run r where r.id = any($1::text[]))) and l.parked
  order by l.job for update
), gone as (
  delete from towpath.later where job = any(array(select job from parked)) returning *
), item as materialized (
  select lane, turnout, nextval('towpath.key') as seq, job, attempt, failures, crashes from gone order by job
)
insert into towpath.ready (lane, turnout, seq, job, attempt, failures, crashes)
select lane, turnout, seq, job, attempt, failures, crashes from item
returning lane, seq
