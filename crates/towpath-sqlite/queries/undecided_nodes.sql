-- Lists nodes that nobody holds and that are to be decided.
-- ?1 most rows.
-- Returns what node_read does, by job.
-- Index: node (job).
select
    n.job, n.graph, n.role, n.phase, n.need, n.eager, n."left", n.ok, n.untaken, n.spoiled, n.cause_rank, n.cause_parent,
    n.attempt
from undecided u
join node n on n.job = u.job
order by u.job
limit ?1
