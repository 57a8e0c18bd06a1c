-- Deletes a run's journal.
-- ?1 job key number.
-- Index: entry_place.
delete from entry where run = ?1
