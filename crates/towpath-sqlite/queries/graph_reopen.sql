-- Unsets a graph's end, because it has grown or is retried. What had succeeded before it grew stays so.
-- ?1 graph key, ?2 the key of the first new node or NULL: numbers.
-- Index: graph (graph).
update graph
set committed = case when ?2 is not null and ifnull(undoing, "end") = 0 then ?2 else committed end,
    undoing = case when ?2 is null then undoing end, "end" = null, ended_at = null, counts = null, prune_at = null
where graph = ?1
