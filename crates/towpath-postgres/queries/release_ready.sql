-- Makes nodes ready, or lets them wait until due; delays count from now.
-- $1 bigint now (us), $2 bigint[] jobs (keys), $3 boolean whether they arrive now; else they arrived with their keys.
-- Returns each lane of them once, in no order. Locks: the nodes (held already).
-- Index: job (key), node (job).
with freed as materialized (
  select j.key, j.lane, -j.priority::int as turnout, case when $3::boolean then nextval('towpath.key') else j.key end as seq,
    coalesce($1::bigint + j.delay_us, j.due_at, $1::bigint) as due
  from towpath.job j where j.key = any($2::bigint[])
  order by j.key
), released as (
  -- All that the inserts need comes from here: two of these tables joined are compared row by row, however many there are.
  update towpath.node n set phase = 2 from freed f where n.job = f.key
  returning f.key, f.lane, f.turnout, f.seq, f.due, n.attempt
), head as (
  insert into towpath.ready (lane, turnout, seq, job, attempt, failures, crashes)
  select lane, turnout, seq, key, attempt, 0, 0 from released where due <= $1::bigint
), wait as (
  insert into towpath.later (job, due, lane, turnout, attempt, failures, crashes)
  select key, due, lane, turnout, attempt, 0, 0 from released where due > $1::bigint
)
select distinct lane from freed
