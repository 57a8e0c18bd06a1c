-- Reads a graph's rules, and how far its undos are.
-- ?1 graph key number.
-- Returns rules, undoing, undo_rank; one row.
-- Index: graph (graph).
select rules, undoing, undo_rank from graph where graph = ?1
