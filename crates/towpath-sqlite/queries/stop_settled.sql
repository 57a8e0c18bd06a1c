-- Says when somebody is to look at a stopped graph.
-- ?1 graph key number, ?2 when µs, or NULL for never.
-- Index: stop (graph).
update stop set due = ?2 where graph = ?1
