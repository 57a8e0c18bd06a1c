-- Unsets a graph's end, because it has grown. What had succeeded stays so.
-- ?1 graph key, ?2 the key of the first new node: numbers.
-- Index: graph (graph).
update graph
set committed = case when ifnull(undoing, "end") = 0 then ?2 else committed end, undoing = null, "end" = null,
    ended_at = null, counts = null, prune_at = null
where graph = ?1
