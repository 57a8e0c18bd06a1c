-- Takes jobs that are to be edited from where they stand: ready, not due yet, blocked.
-- $1 bigint[] jobs (keys). Returns job, attempt, failures, crashes, turnout; seq of one from the head, due (us) of one from
-- `later`, or null; in no order.
-- Locks: those rows; waits for a claim that has them.
-- Index: job (key), ready (lane, turnout, seq), ready (job), later (job), blocked (job).
with head as (
  delete from towpath.ready h using towpath.job j
  where j.key = any($1::bigint[]) and h.lane = j.lane and h.turnout = -j.priority::int and h.seq = j.key
  returning h.job, h.attempt, h.failures, h.crashes, h.turnout, h.seq
), moved as (
  delete from towpath.ready where job = any($1::bigint[]) and seq <> job
  returning job, attempt, failures, crashes, turnout, seq
), wait as (
  delete from towpath.later where job = any($1::bigint[]) returning job, attempt, failures, crashes, turnout, due
), aside as (
  delete from towpath.blocked where job = any($1::bigint[]) returning job, attempt, failures, crashes, turnout
)
select head.*, null::bigint as due from head union all select moved.*, null from moved
union all select job, attempt, failures, crashes, turnout, null, due from wait
union all select job, attempt, failures, crashes, turnout, null, null from aside
