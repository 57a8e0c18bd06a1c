-- Reads all nodes of a graph, end among them.
-- ?1 graph key number.
-- Returns what node_read does, then state and branches if it has ended, by job.
-- Index: node (graph, name), ended (job).
select
    n.job, n.graph, n.role, n.phase, n.need, n.eager, n."left", n.ok, n.untaken, n.spoiled, n.cause_rank, n.cause_parent,
    n.attempt,
    e.state, e.branches
from node n
left join ended e on e.job = n.job
where n.graph = ?1
order by n.job
