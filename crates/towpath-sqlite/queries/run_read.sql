-- Reads the head of a run.
-- ?1 job key number.
-- Returns id, chapter, entries, whether it is paused; one row or none.
-- Index: run (job).
select id, chapter, entries, paused is not null from run where job = ?1
