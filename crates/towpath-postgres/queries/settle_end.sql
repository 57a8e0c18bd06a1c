-- Ends jobs, wherever they stand.
-- $1 bigint now (us); one array element per job: $2 bigint[] jobs, $3 smallint[] ends, $4 text[] causes (JSON),
-- $5 int[] attempts, $6 int[] failures, $7 int[] crashes, $8 bigint[] started_at (us), $9 bigint[] prune_at (us),
-- $10 text[] branches (JSON). Returns nothing. Locks: those rows.
-- Index: running (job), deadline (job).
with held as (
  delete from towpath.running where job = any($2::bigint[])
), watch as (
  delete from towpath.deadline where job = any($2::bigint[])
)
insert into towpath.ended (job, state, cause, attempt, failures, crashes, started_at, prune_at, branches, ended_at)
select i.*, $1::bigint
from unnest($2::bigint[], $3::smallint[], $4::text[], $5::int[], $6::int[], $7::int[], $8::bigint[], $9::bigint[],
  $10::text[]) as i
