-- Reads a node whose parents are counted, and where it goes if it starts.
-- ?1 job key number.
-- Returns what node_read does, then lane, priority, delay_us, due_at; one row.
-- Index: node (job), job (key).
select
    n.job, n.graph, n.role, n.phase, n.need, n.eager, n."left", n.ok, n.untaken, n.spoiled, n.cause_rank, n.cause_parent,
    n.attempt, j.lane, j.priority, j.delay_us, j.due_at
from node n
join job j on j.key = n.job
where n.job = ?1
