-- Deletes attempts that are neither the first nor among the newest.
-- ?1 job key, ?2 how many of the newest stay: numbers.
-- Index: attempt (job, attempt).
delete from attempt
where job = ?1
    and attempt > (select min(attempt) from attempt where job = ?1)
    and attempt not in (select attempt from attempt where job = ?1 order by attempt desc limit ?2)
