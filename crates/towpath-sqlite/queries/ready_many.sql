-- Whether there are so many ready jobs.
-- ?1 how many.
-- Returns one row: 1 or 0.
-- Index: ready (job).
select count(*) >= ?1 from (select 1 from ready limit ?1)
