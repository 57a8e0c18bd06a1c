-- Reads the head of a run.
-- ?1 job key number.
-- Returns id, chapter, entries; one row or none.
-- Index: run (job).
select id, chapter, entries from run where job = ?1
