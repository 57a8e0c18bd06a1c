-- Deletes what a run has shown.
-- ?1 job key number.
-- Index: shown (run, name).
delete from shown where run = ?1
