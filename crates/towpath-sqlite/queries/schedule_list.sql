-- Lists schedules by name.
-- ?1 after name text, ?2 limit number.
-- Returns revision number, body JSON, by name.
-- Index: schedule (name).
select revision, body from schedule where name > ?1 order by name limit ?2
