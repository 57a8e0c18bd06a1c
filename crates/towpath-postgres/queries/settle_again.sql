-- Puts jobs back: at the end of the head, or where they wait until due, and parked runs until a signal.
-- One array element per job: $1 bigint[] jobs, $2 bigint[] due (us, null for at once), $3 int[] lanes,
-- $4 int[] turnouts, $5 int[] attempts, $6 int[] failures, $7 int[] crashes, $8 boolean[] whether parked. An array
-- of nulls may be empty.
-- Returns nothing. Locks: those rows.
-- Index: running (job).
with held as (
  delete from towpath.running where job = any($1::bigint[])
), item as materialized (
  select i.*, case when i.due is null then nextval('towpath.key') end as seq
  from unnest($1::bigint[], $2::bigint[], $3::int[], $4::int[], $5::int[], $6::int[], $7::int[],
    $8::boolean[]) as i(job, due, lane, turnout, attempt, failures, crashes, parked)
), head as (
  insert into towpath.ready (lane, turnout, seq, job, attempt, failures, crashes)
  select lane, turnout, seq, job, attempt, failures, crashes from item where due is null
)
insert into towpath.later (job, due, lane, turnout, attempt, failures, crashes, parked)
select job, due, lane, turnout, attempt, failures, crashes, coalesce(parked, false) from item where due is not null
