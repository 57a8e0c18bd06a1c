-- What holds a locked graph back: a statement of its own, for one that waits for a lock sees what was there before.
-- $1 bigint graph (key). Returns reason; one row or none. No locks.
-- Index: stop (graph).
select reason from towpath.stop where graph = $1::bigint
