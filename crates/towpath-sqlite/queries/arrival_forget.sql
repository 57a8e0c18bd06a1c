-- Deletes an arrival.
-- ?1 run id text, ?2 seq number.
-- Index: arrival (run, seq).
delete from arrival where run = ?1 and seq = ?2
