-- Sets jobs aside until code or input changes.
-- One array element per job: $1 bigint[] jobs, $2 bigint[] builds, $3 int[] lanes, $4 int[] turnouts,
-- $5 int[] attempts, $6 int[] failures, $7 int[] crashes, $8 text[] reasons.
-- Returns nothing. Locks: those rows.
-- Index: running (job).
with held as (
  delete from towpath.running where job = any($1::bigint[])
)
insert into towpath.blocked (job, build, lane, turnout, attempt, failures, crashes, reason)
select * from unnest($1::bigint[], $2::bigint[], $3::int[], $4::int[], $5::int[], $6::int[], $7::int[], $8::text[])
