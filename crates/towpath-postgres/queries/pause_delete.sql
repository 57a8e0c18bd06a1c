-- Lifts the pause of a queue.
-- $1 text queue.
-- Returns nothing.
-- Locks: the row.
-- Index: pause (queue).
delete from towpath.pause where queue = $1::text
