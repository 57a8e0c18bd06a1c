-- Finds the run of an id, and how it stands.
-- ?1 run id text.
-- Returns the job's key and id, whether it has ended, and whether it is a node; of one that was pruned, whose id is taken still,
-- no key; one row or none.
-- Index: run (id), job (key), ended (job), tombstone (run).
select j.key, j.id, e.job is not null, j.graph is not null
from run r
join job j on j.key = r.job
left join ended e on e.job = r.job
where r.id = ?1
union all
select null, t.job, 1, 0 from tombstone t where t.run = ?1 and not exists (select 1 from run r where r.id = ?1)
