-- Deletes a run's journal of the chapters before one.
-- ?1 job key, ?2 chapter: numbers.
-- Index: entry (run, chapter, seq).
delete from entry where run = ?1 and chapter < ?2
