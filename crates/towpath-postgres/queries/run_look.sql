-- Reads the runs of which a turn settles something, behind the locks on their claims. Of those that are to park or to end
-- it tries for the advisory lock, which who signals shares: it never waits, for a user's transaction may be open long.
-- One array element per run: $1 bigint[] jobs (keys), $2 boolean[] whether to try.
-- Returns job, chapter, entries, alone (whether the lock is held; null if not tried), whether it is paused, in no order.
-- Locks: the advisory ones, until the transaction ends.
-- Index: run (job).
select r.job, r.chapter, r.entries,
  case when w.tries then pg_try_advisory_xact_lock('towpath.run'::regclass::int, towpath.run_lock(r.id)) end as alone,
  r.paused is not null as paused
from unnest($1::bigint[], $2::boolean[]) as w(job, tries) join towpath.run r on r.job = w.job
