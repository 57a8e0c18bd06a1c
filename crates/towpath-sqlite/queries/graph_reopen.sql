-- Unsets a graph's end, because it has grown.
-- ?1 graph key number.
-- Index: graph (graph).
update graph set "end" = null, ended_at = null, counts = null, prune_at = null where graph = ?1
