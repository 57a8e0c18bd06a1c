-- Deletes what a run has shown.
-- ?1 job key number.
-- Index: shown (run, name, seq).
delete from shown where run = ?1
