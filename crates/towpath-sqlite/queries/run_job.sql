-- Finds the job that has a run's id, or had it when it was pruned.
-- ?1 id text.
-- Returns the job's id; one row or none.
-- Index: run (id), job (key), tombstone (run).
select j.id from run r join job j on j.key = r.job where r.id = ?1
union all
select t.job from tombstone t where t.run = ?1 and not exists (select 1 from run r where r.id = ?1)
