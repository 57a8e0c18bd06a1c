-- Lets nodes wait anew that have ended. What was kept of their ends goes; a deadline that has passed is lifted.
-- Those that were undone count as never started.
-- $1 bigint[] jobs (keys), $2 bigint now (us), $3 boolean[] whether each was undone. Returns nothing. Locks: those rows.
-- Index: ended (job), output (job), mark (job, name), job (key), deadline (job), node (job).
with gone as (
  delete from towpath.ended e using unnest($1::bigint[], $3::boolean[]) as i(job, is_undone)
  where e.job = i.job
  returning e.job, e.attempt, e.state, i.is_undone
), anew as (
  -- What has succeeded and is to be done once more begins anew.
  delete from towpath.mark where job = any(array(select job from gone where state = 0))
), left_behind as (
  delete from towpath.output where job = any($1::bigint[])
), lifted as (
  update towpath.job set deadline = null where key = any($1::bigint[]) and deadline <= $2::bigint
), watch as (
  insert into towpath.deadline (job, at)
  select key, deadline from towpath.job where key = any($1::bigint[]) and deadline > $2::bigint
  on conflict do nothing
)
update towpath.node n
set phase = 0, attempt = greatest(n.attempt, g.attempt), started = n.started and not g.is_undone,
  undone = case when g.is_undone then greatest(n.attempt, g.attempt) else n.undone end
from gone g
where n.job = g.job
