-- Writes a graph's end.
-- ?1 graph key, ?2 end: numbers; ?3 ended_at µs, ?4 counts JSON: lists of end, role, nodes; ?5 prune_at µs.
-- Returns id; one row.
-- Index: graph (graph).
update graph set "end" = ?2, ended_at = ?3, counts = ?4, prune_at = ?5 where graph = ?1 returning id
