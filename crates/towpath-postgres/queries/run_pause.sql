-- Pauses a run, behind the lock of its id; one that is paused keeps its pause.
-- $1 bigint job (key), $2 text who (JSON). Returns nothing. Locks: that row.
-- Index: run (job).
update towpath.run set paused = coalesce(paused, $2::text) where job = $1::bigint
