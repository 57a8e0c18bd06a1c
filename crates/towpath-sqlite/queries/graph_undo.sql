-- Notes how a graph had ended when its undos were looked at, and the rank that was started.
-- ?1 graph key, ?2 end, ?3 rank or NULL: numbers.
-- Index: graph (graph).
update graph set undoing = ?2, undo_rank = ifnull(?3, undo_rank) where graph = ?1
