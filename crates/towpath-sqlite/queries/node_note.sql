-- Remembers of a node that it was with a handler, where its counters will not say so.
-- ?1 job key number.
-- Index: node (job).
update node set started = 1 where job = ?1
