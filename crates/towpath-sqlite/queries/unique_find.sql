-- Reads who has a unique key, and how far that one has come.
-- ?1 scope: 0 a kind's, 1 a graph name's, ?2 kind or name text, ?3 key text.
-- Returns job key number, id bytes, hold code, at µs, until_at µs or NULL, stage: 0 not begun, 1 begun, 2 over, NULL
-- gone; one row or none.
-- Index: unique_key (scope, kind, key), graph (graph), job (key), lane (lane), ended (job), running (job), blocked
-- (job), later (job), ready (lane, turnout, seq), ready (job).
select
    u.job, u.id, u.hold, u.at, u.until_at,
    case u.scope
        when 1 then (select iif(g.ended_at is null, 1, 2) from graph g where g.graph = u.job)
        else (
            select case when s.state < 10 then 2 when s.state = 13 or s.attempt > 0 then 1 else 0 end
            from job_line s where s.key = u.job
        )
    end as stage
from unique_key u
where u.scope = ?1 and u.kind = ?2 and u.key = ?3
