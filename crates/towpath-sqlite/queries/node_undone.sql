-- Lets a node count as never started that waits anew, since it was undone.
-- ?1 job key number.
-- Index: node (job).
update node set started = 0, undone = attempt where job = ?1
