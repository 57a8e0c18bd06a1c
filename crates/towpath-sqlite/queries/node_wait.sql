-- Lets a node wait for its parents.
-- ?1 job key, ?2 attempts so far: numbers.
-- Index: node (job).
update node set phase = 0, attempt = max(attempt, ?2) where job = ?1
