-- Keeps an arrival as long as its run.
-- ?1 run id text, ?2 seq number.
-- Index: arrival (run, seq).
update arrival set prune_at = null where run = ?1 and seq = ?2
