-- Whether there are so many ready jobs, those that are not due yet with them.
-- ?1 how many.
-- Returns one row: 1 or 0.
-- Index: ready (job), later (due, job).
select (select count(*) from (select 1 from ready limit ?1)) + (select count(*) from (select 1 from later limit ?1)) >= ?1
