-- Deletes an arrival that a run has taken, unless it has a dedup key of its own.
-- ?1 run id text, ?2 seq number.
-- Index: arrival (run, seq).
delete from arrival where run = ?1 and seq = ?2 and (dedup is null or dedup = name)
