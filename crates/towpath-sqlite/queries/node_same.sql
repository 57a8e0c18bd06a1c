-- Finds a node of a graph that has this job.
-- ?1 graph key number, ?2 name text, ?3 id of the job, bytes.
-- Returns one row or none.
-- Index: job (id), node (job).
select 1
from node n
join job j on j.key = n.job
where n.graph = ?1 and n.name = ?2 and j.id = ?3
