-- Reads the revision of a schedule.
-- ?1 name text.
-- Returns revision number; one row or none.
-- Index: schedule (name).
select revision from schedule where name = ?1
