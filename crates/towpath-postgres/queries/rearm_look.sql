-- Which nodes may be re-armed: they have ended, and are no runs with a journal.
-- $1 bigint[] jobs (keys). Returns job, in no order. No locks.
-- Index: ended (job), run (job).
select x.job from towpath.ended x
where x.job = any($1::bigint[])
  and not exists (select 1 from towpath.run u where u.job = x.job and (u.entries > 0 or u.chapter > 1))
