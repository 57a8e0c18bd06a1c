-- Reads the head of a run.
-- ?1 job key number.
-- Returns id, chapter, entries; one row or none. Index: primary key.
select id, chapter, entries from run where job = ?1
