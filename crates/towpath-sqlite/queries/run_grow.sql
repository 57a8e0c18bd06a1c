-- Counts a run's entries.
-- ?1 job key, ?2 entries: numbers.
-- Index: run (job).
update run set entries = ?2 where job = ?1
