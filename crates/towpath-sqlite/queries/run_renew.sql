-- Begins a run's next chapter, whose first line is written beside.
-- ?1 job key, ?2 chapter: numbers.
-- Index: run (job).
update run set chapter = ?2, entries = 0 where job = ?1
