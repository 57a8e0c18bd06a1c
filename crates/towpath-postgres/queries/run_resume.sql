-- Lifts the pauses of runs, and makes those ready that were held. Lock, then look: it comes behind the locks of their ids.
-- $1 text[] ids, $2 bigint the instant that never comes (us).
-- Returns lane, seq of each that was held, in no order. Locks: those rows.
-- Index: run (id), later (job), later (due, job).
with lifted as (
  update towpath.run set paused = null where id = any($1::text[]) and paused is not null returning job
), gone as (
  delete from towpath.later
  where job = any(array(select job from lifted)) and due = $2::bigint and not parked returning *
), item as materialized (
  select lane, turnout, nextval('towpath.key') as seq, job, attempt, failures, crashes from gone order by job
)
insert into towpath.ready (lane, turnout, seq, job, attempt, failures, crashes)
select lane, turnout, seq, job, attempt, failures, crashes from item
returning lane, seq
