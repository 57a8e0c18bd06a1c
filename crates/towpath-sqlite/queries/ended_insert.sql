-- Writes a job's end.
-- ?1 job key, ?2 state: numbers; ?3 cause JSON or NULL, ?4 branches JSON or NULL; ?5 attempt, ?6 failures, ?7 crashes:
-- numbers; ?8 started_at µs or NULL, ?9 ended_at µs, ?10 prune_at µs or NULL.
insert into ended (job, state, cause, branches, attempt, failures, crashes, started_at, ended_at, prune_at)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
