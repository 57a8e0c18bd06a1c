-- Reads the schedules that are due.
-- ?1 now µs, ?2 limit number.
-- Returns revision number, body JSON, by when they were due.
-- Index: schedule (next, name), schedule (name).
select revision, body from schedule where next <= ?1 order by next, name limit ?2
