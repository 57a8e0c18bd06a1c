-- Puts edited jobs back: into the head, or where they wait for their time.
-- $1 bigint now (us); one entry per job: $2 bigint[] jobs (keys), $3 int[] attempts, $4 int[] failures, $5 int[] crashes,
-- $6 bigint[] due (us, or null for now), $7 bigint[] seq to keep (or null for the end of the head).
-- Returns lane, seq of each, in no order. Locks: the new rows.
-- Index: job (key).
with item as materialized (
  select j.lane, -j.priority::int as turnout, e.job, e.attempt, e.failures, e.crashes, coalesce(e.due, $1::bigint) as due,
    coalesce(e.seq, nextval('towpath.key')) as seq
  from unnest($2::bigint[], $3::int[], $4::int[], $5::int[], $6::bigint[], $7::bigint[]) with ordinality
    as e(job, attempt, failures, crashes, due, seq, place)
  join towpath.job j on j.key = e.job
  order by e.place
), head as (
  insert into towpath.ready (lane, turnout, seq, job, attempt, failures, crashes)
  select lane, turnout, seq, job, attempt, failures, crashes from item where due <= $1::bigint
), wait as (
  insert into towpath.later (job, due, lane, turnout, attempt, failures, crashes)
  select job, due, lane, turnout, attempt, failures, crashes from item where due > $1::bigint
)
select lane, seq from item
