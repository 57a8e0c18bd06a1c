-- Empties a run's inbox.
-- ?1 run id text.
-- Index: arrival_place.
delete from arrival where run = ?1
