-- Marks a graph for deletion, in place of another stop.
-- ?1 graph key, ?2 reason: numbers; ?3 at µs.
-- Index: stop (graph).
insert into stop (graph, reason, at, actor, why) values (?1, ?2, ?3, 'towpath', 'past its retention')
on conflict (graph) do update set
    reason = excluded.reason,
    at = excluded.at,
    actor = excluded.actor,
    why = excluded.why,
    due = null
