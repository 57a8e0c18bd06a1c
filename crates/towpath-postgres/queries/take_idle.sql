-- Takes jobs from wherever they stand that is neither running nor over nor behind a parent.
-- $1 bigint[] jobs (keys). Returns job, attempt, failures, crashes, in no order.
-- Locks: those rows;
-- waits for a claim that has them.
-- Index: job (key), ready (lane, turnout, seq), ready (job), later (job), blocked (job), undecided (job).
with head as (
  delete from towpath.ready h using towpath.job j
  where j.key = any($1::bigint[]) and h.lane = j.lane and h.turnout = -j.priority::int and h.seq = j.key
  returning h.job, h.attempt, h.failures, h.crashes
), moved as (
  delete from towpath.ready where job = any($1::bigint[]) and seq <> job returning job, attempt, failures, crashes
), wait as (
  delete from towpath.later where job = any($1::bigint[]) returning job, attempt, failures, crashes
), aside as (
  delete from towpath.blocked where job = any($1::bigint[]) returning job, attempt, failures, crashes
), undecided as (
  delete from towpath.undecided where job = any($1::bigint[]) returning job
)
select * from head union all select * from moved union all select * from wait union all select * from aside
union all select job, 0, 0, 0 from undecided
