-- Counts nodes that a retry has let wait anew.
-- ?1 graph key, ?2 how many: numbers.
-- Index: graph (graph).
update graph set rearmed = rearmed + ?2 where graph = ?1
