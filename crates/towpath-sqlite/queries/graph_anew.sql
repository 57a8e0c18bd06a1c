-- Forgets what came of a graph's undos: it runs again.
-- ?1 graph key number.
-- Index: graph (graph).
update graph set undoing = null, undo_rank = null where graph = ?1
