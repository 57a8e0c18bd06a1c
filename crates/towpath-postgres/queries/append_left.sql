-- Looks whether a decision of a graph's `end` is left, taken over by somebody while the append took it away.
-- $1 bigint end (job's key). Returns left. No locks.
-- Index: running (job), undecided (job).
select exists (select 1 from towpath.running where job = $1::bigint)
  or exists (select 1 from towpath.undecided where job = $1::bigint) as left
