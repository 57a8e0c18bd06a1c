-- Finds the run of an id, and how it stands.
-- ?1 run id text.
-- Returns the job's key and id, whether it has ended, and whether it is a node; one row or none.
-- Index: run (id), job (key), ended (job).
select j.key, j.id, e.job is not null, j.graph is not null
from run r
join job j on j.key = r.job
left join ended e on e.job = r.job
where r.id = ?1
