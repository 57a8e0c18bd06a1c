-- Ends lone jobs in the same way without a look at them first: whatever their rows say, these ends stand. A worker is
-- given a job once in a turn at most, so its index needs no look either.
-- $1 bigint now (us), $2 bigint worker, $3 bigint turn of the claims, $4 bigint[] jobs (keys), $5 smallint end,
-- $6 int attempt, $7 int failures, $8 int crashes, $9 bigint prune_at (us).
-- Returns job, id of those whose claims still held, in no order. Locks: those rows,
-- in the order of their keys. `+ 0` keeps the planner from going through all that the worker holds.
-- Index: running (job), deadline (job).
with gone as (
  delete from towpath.running
  where job = any($4::bigint[]) and worker + 0 = $2::bigint and turn + 0 = $3::bigint and graph is null
  returning job, id, case when decide = 0 then started_at end as started_at
), watch as (
  delete from towpath.deadline where job = any(array(select job from gone))
), over as (
  insert into towpath.ended (job, state, attempt, failures, crashes, started_at, prune_at, ended_at)
  select job, $5::smallint, $6::int, $7::int, $8::int, started_at, $9::bigint, $1::bigint from gone
)
select job, id from gone
