-- Writes a schedule.
-- ?1 name text, ?2 revision number, ?3 next µs or NULL, ?4 body JSON.
-- Index: schedule (name).
insert or replace into schedule (name, revision, next, body) values (?1, ?2, ?3, ?4)
