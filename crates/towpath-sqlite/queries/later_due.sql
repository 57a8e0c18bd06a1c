-- Lists jobs whose time has come.
-- ?1 now µs, ?2 most rows.
-- Returns job, lane, turnout, attempt, failures, crashes, by due and job.
-- Index: later (due, job).
select job, lane, turnout, attempt, failures, crashes from later where due <= ?1 order by due, job limit ?2
