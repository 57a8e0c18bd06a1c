-- Holds a graph back, whatever held it before.
-- ?1 graph key, ?2 reason: numbers; ?3 at µs, ?4 actor text, ?5 why text.
-- Index: stop (graph).
insert into stop (graph, reason, at, actor, why) values (?1, ?2, ?3, ?4, ?5)
on conflict (graph) do update set
    reason = excluded.reason,
    at = excluded.at,
    actor = excluded.actor,
    why = excluded.why,
    due = null
