-- Puts a job into the head, as one that arrives now; perhaps with another input. A deadline that has passed is lifted.
-- $1 bigint job (key), $2 bigint now (us), $3 int attempt, $4 smallint codec and $5 bytea input (null: as before).
-- Returns lane. Locks: the rows.
-- Index: job (key), deadline (job), mark (job, name).
with changed as (
  update towpath.job
  set codec = coalesce($4::smallint, codec), input = coalesce($5::bytea, input),
    deadline = case when deadline > $2::bigint then deadline end
  where key = $1::bigint and ($5::bytea is not null or deadline <= $2::bigint)
), forgotten as (
  -- What was kept was made of the input before.
  delete from towpath.mark where job = $1::bigint and $5::bytea is not null
), watch as (
  insert into towpath.deadline (job, at)
  select key, deadline from towpath.job where key = $1::bigint and deadline > $2::bigint
  on conflict do nothing
), head as (
  insert into towpath.ready (lane, turnout, seq, job, attempt, failures, crashes)
  select lane, -priority::int, nextval('towpath.key'), key, $3::int, 0, 0 from towpath.job where key = $1::bigint
  returning lane
)
select lane from head
