-- Takes back the end of a job, or a job from the blocked ones.
-- $1 bigint job (key), $2 smallint[] ends that it may leave, $3 boolean whether it may be blocked.
-- Returns attempt; one row or none. Locks: those rows.
-- Index: ended (job), blocked (job), output (job), mark (job, name).
with gone as (
  delete from towpath.ended where job = $1::bigint and state = any($2::smallint[]) returning job, attempt, state
), aside as (
  delete from towpath.blocked where job = $1::bigint and $3::boolean returning job, attempt
), o as (
  delete from towpath.output where job = any(array(select job from gone))
), m as (
  -- What has succeeded and is to be done once more begins anew.
  delete from towpath.mark where job = any(array(select job from gone where state = 0))
)
select attempt from gone union all select attempt from aside
