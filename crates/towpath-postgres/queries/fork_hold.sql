-- Keeps a run that is to be forked from being pruned.
-- $1 uuid job. Returns job (key); one row or none. Locks: its row, shared with what does not delete it.
-- Index: job (id), run (job).
select r.job from towpath.job j join towpath.run r on r.job = j.key where j.id = $1::uuid for key share of r
