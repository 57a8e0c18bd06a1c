-- Forgets the retry of a graph.
-- $1 bigint graph (key). Returns nothing. Locks: the row.
-- Index: retry (graph).
delete from towpath.retry where graph = $1::bigint
