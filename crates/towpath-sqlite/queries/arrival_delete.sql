-- Empties a run's inbox.
-- ?1 run id text.
-- Index: arrival (run, seq).
delete from arrival where run = ?1
