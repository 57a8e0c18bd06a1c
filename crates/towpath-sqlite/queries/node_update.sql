-- Writes a node's counters.
-- ?1 job key, ?2 phase, ?3 left, ?4 ok, ?5 untaken, ?6 spoiled, ?7 cause_rank or NULL, ?8 cause_parent key or NULL:
-- numbers.
-- Index: node (job).
update node set
    phase = ?2, "left" = ?3, ok = ?4, untaken = ?5, spoiled = ?6, cause_rank = ?7, cause_parent = ?8
where job = ?1
