-- Holds a graph back. A stop that is there stays, but a cancel takes the place of a failure and of a retry.
-- ?1 graph key, ?2 reason: numbers; ?3 at µs, ?4 actor text, ?5 why text, ?6 when to look µs or NULL.
-- Index: stop (graph).
insert into stop (graph, reason, at, actor, why, due) values (?1, ?2, ?3, ?4, ?5, ?6)
on conflict (graph) do update set
    reason = excluded.reason,
    at = excluded.at,
    actor = excluded.actor,
    why = excluded.why,
    due = excluded.due
where stop.reason in (1, 3) and excluded.reason = 0
