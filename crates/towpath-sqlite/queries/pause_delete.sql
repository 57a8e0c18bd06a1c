-- Lifts the pause of a queue.
-- ?1 queue text.
-- Returns nothing.
-- Index: pause (queue).
delete from pause where queue = ?1
