-- Frees the id of a run that was pruned.
-- ?1 run id text.
-- Index: tombstone (run).
delete from tombstone where run = ?1
