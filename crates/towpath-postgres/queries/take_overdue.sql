-- Leases to a worker, for a decision, jobs whose deadline has passed before anybody claimed them. A deadline that is due
-- goes, whether or not its job was there to take.
-- $1 bigint now (us), $2 bigint worker, $3 bigint turn, $4 int first index, $5 int limit.
-- Returns job of each, in no order. Locks: those rows; locked ones are skipped.
-- Index: deadline (at, job), deadline (job), job (key), ready (lane, turnout, seq), ready (job), later (job),
-- blocked (job).
with due as materialized (
  select job, at from towpath.deadline where at <= $1::bigint order by at, job limit $5::int for update skip locked
), seen as (
  delete from towpath.deadline where job = any(array(select job from due))
), head as (
  delete from towpath.ready where ctid = any(array(
    select h.ctid from due d join towpath.job j on j.key = d.job
    join towpath.ready h on h.lane = j.lane and h.turnout = -j.priority::int and h.seq = j.key
    for update of h skip locked))
  returning job, attempt, failures, crashes
), moved as (
  delete from towpath.ready where ctid = any(array(
    select h.ctid from due d join towpath.ready h on h.job = d.job and h.seq <> h.job for update of h skip locked))
  returning job, attempt, failures, crashes
), wait as (
  delete from towpath.later where job = any(array(select job from due)) returning job, attempt, failures, crashes
), aside as (
  delete from towpath.blocked where job = any(array(select job from due)) returning job, attempt, failures, crashes
), taken as materialized (
  select * from head union all select * from moved union all select * from wait union all select * from aside
)
insert into towpath.running (job, worker, turn, started_at, graph, idx, lane, turnout, attempt, failures, crashes,
  decide, id)
select t.job, $2::bigint, $3::bigint, $1::bigint, j.graph, $4::int + row_number() over (order by j.deadline, t.job) - 1,
  j.lane, -j.priority::int, t.attempt, t.failures, t.crashes, 3, j.id
from taken t join towpath.job j on j.key = t.job
returning job
