-- Says when somebody is to look at a stopped graph.
-- $1 bigint graph (key), $2 bigint when (us), or null for never. Returns nothing. Locks: the row.
-- Index: stop (graph).
update towpath.stop set due = $2::bigint where graph = $1::bigint
