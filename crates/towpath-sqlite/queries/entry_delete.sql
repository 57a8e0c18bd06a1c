-- Deletes a run's journal.
-- ?1 job key number.
-- Index: entry (run, chapter, seq).
delete from entry where run = ?1
