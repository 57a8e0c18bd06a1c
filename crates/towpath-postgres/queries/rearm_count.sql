-- Counts nodes that a retry has let wait anew.
-- $1 bigint graph (key), $2 int how many. Returns nothing. Locks: the graph (held already).
-- Index: graph (graph).
update towpath.graph set rearmed = rearmed + $2::int where graph = $1::bigint
