-- Makes nodes ready, or lets them wait until due; delays count from now.
-- $1 bigint now (us), $2 bigint[] jobs (keys), $3 boolean whether they arrive now; else they arrived with their keys.
-- Returns lane of each, in no order. Locks: the nodes (held already).
-- Index: job (key), node (job).
with freed as materialized (
  select j.key, j.lane, -j.priority::int as turnout, case when $3::boolean then nextval('towpath.key') else j.key end as seq,
    coalesce($1::bigint + j.delay_us, j.due_at, $1::bigint) as due
  from towpath.job j where j.key = any($2::bigint[])
  order by j.key
), released as (
  update towpath.node set phase = 2 where job = any($2::bigint[]) returning job, attempt
), head as (
  insert into towpath.ready (lane, turnout, seq, job, attempt, failures, crashes)
  select f.lane, f.turnout, f.seq, f.key, r.attempt, 0, 0
  from freed f join released r on r.job = f.key where f.due <= $1::bigint
), wait as (
  insert into towpath.later (job, due, lane, turnout, attempt, failures, crashes)
  select f.key, f.due, f.lane, f.turnout, r.attempt, 0, 0
  from freed f join released r on r.job = f.key where f.due > $1::bigint
)
select lane from freed
