-- Forgets what came of a graph's undos, and of its last retry: it runs again.
-- ?1 graph key number.
-- Index: graph (graph).
update graph set undoing = null, undo_rank = null, rearmed = 0 where graph = ?1
