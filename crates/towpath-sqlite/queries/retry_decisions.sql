-- Lists nodes of a graph that came for a decision about their parents or their graph.
-- ?1 graph key number.
-- Returns job, phase, by job.
-- Index: node (graph, name), running (job), undecided (job).
select n.job, n.phase
from node n
left join running r on r.job = n.job
left join undecided u on u.job = n.job
where n.graph = ?1 and (u.job is not null or r.decide in (1, 2, 4))
order by n.job
