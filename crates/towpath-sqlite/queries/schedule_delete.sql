-- Deletes a schedule.
-- ?1 name text.
-- Index: schedule (name).
delete from schedule where name = ?1
