-- Moves jobs whose time has come to the end of the head.
-- $1 bigint now (us), $2 int limit. Returns nothing. Locks: those rows; locked ones are skipped.
-- Index: later (due, job), later (job).
with due as materialized (
  select job from towpath.later where due <= $1::bigint order by due, job limit $2::int for update skip locked
), gone as (
  delete from towpath.later where job = any(array(select job from due)) returning *
), item as materialized (
  select lane, turnout, nextval('towpath.key') as seq, job, attempt, failures, crashes from gone order by due, job
)
insert into towpath.ready (lane, turnout, seq, job, attempt, failures, crashes)
select lane, turnout, seq, job, attempt, failures, crashes from item
