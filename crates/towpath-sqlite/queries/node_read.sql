-- Reads a node.
-- ?1 job key number.
-- Returns job, graph, role, phase, need, eager, left, ok, untaken, spoiled, cause_rank, cause_parent, attempt; one row.
-- Index: node (job).
select job, graph, role, phase, need, eager, "left", ok, untaken, spoiled, cause_rank, cause_parent, attempt
from node
where job = ?1
