-- Shares the advisory locks of runs, so that none of them parks or ends unseen.
-- $1 text[] runs (ids). Returns a row per lock. Locks: the advisory ones, until the transaction ends; waits for turns that
-- hold them alone.
select pg_advisory_xact_lock_shared('towpath.run'::regclass::int, lock)
from (select distinct towpath.run_lock(id) as lock from unnest($1::text[]) as r(id) order by 1) l
