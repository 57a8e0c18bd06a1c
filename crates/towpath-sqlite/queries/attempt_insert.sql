-- Keeps an attempt, in place of one with its number.
-- ?1 job key, ?2 attempt, ?3 outcome: numbers; ?4 started_at µs, ?5 ended_at µs, ?6 error text or NULL, ?7 log text or
-- NULL.
-- Index: attempt (job, attempt).
insert into attempt (job, attempt, outcome, started_at, ended_at, error, log) values (?1, ?2, ?3, ?4, ?5, ?6, ?7)
on conflict (job, attempt) do update set
    outcome = excluded.outcome,
    started_at = excluded.started_at,
    ended_at = excluded.ended_at,
    error = excluded.error,
    log = excluded.log
