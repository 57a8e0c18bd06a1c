-- Finds the run of an id, and how it stands, behind the lock of the id.
-- $1 text id. Returns the job's key and id, has_ended, is_node; one row or none. No locks.
-- Index: run (id), job (key), ended (job).
select j.key, j.id, x.job is not null as has_ended, j.graph is not null as is_node
from towpath.run r
join towpath.job j on j.key = r.job
left join towpath.ended x on x.job = r.job
where r.id = $1::text
