-- Leaves of an arrival that a run has taken only its dedup key.
-- ?1 run id text, ?2 seq number, ?3 name text.
-- Index: arrival (run, seq).
update arrival set name = ?3, bytes = x'' where run = ?1 and seq = ?2
