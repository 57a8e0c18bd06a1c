-- Ends nodes under their claims, without a look at them first: whatever their rows say, these ends stand.
-- $1 uuid incarnation of the worker; one array element per job, in the order of their keys: $2 bigint[] jobs, $3 bigint[] turns
-- and $4 int[] indexes of the claims, $5 smallint[] ends, $6 text[] causes (JSON), $7 int[] attempts, $8 int[] failures,
-- $9 int[] crashes, $10 text[] branches (JSON), $11 smallint[] codecs and $12 bytea[] bytes of outputs (null without one).
-- Returns job, id of those whose claims still held and that end so, in no order.
-- Locks: those rows, in the order of their keys. `+ 0` keeps the planner from going through all that the worker holds.
-- Index: running (job), deadline (job), worker (incarnation).
with clock as materialized (
  select w.worker, towpath.clock() as now from towpath.worker w where w.incarnation = $1::uuid
), item as materialized (
  select * from unnest($2::bigint[], $3::bigint[], $4::int[], $5::smallint[], $6::text[], $7::int[], $8::int[], $9::int[],
    $10::text[], $11::smallint[], $12::bytea[])
    as i(job, turn, idx, state, cause, attempt, failures, crashes, branches, codec, bytes)
), gone as (
  delete from towpath.running r using item i
  where r.job = i.job and r.worker + 0 = (select worker from clock) and r.turn + 0 = i.turn and r.idx = i.idx
    and r.graph is not null and r.decide <> 4
    -- One that was given back is noted besides.
    and (r.decide <> 0 or r.attempt <= i.attempt)
  returning r.job, r.id, i.state, i.cause, i.attempt, i.failures, i.crashes, i.branches, i.codec, i.bytes,
    case when r.decide = 0 then r.started_at end as started_at
), watch as (
  delete from towpath.deadline where job = any(array(select job from gone))
), kept as (
  insert into towpath.output (job, codec, bytes) select job, codec, bytes from gone where codec is not null
), over as (
  insert into towpath.ended (job, state, cause, attempt, failures, crashes, started_at, branches, ended_at)
  select job, state, cause, attempt, failures, crashes, started_at, branches, (select now from clock) from gone
)
select job, id from gone
