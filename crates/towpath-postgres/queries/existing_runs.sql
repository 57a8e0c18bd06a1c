-- Which of these runs are there, or were pruned while their ids stay taken.
-- $1 text[] ids. Returns id, job (id), in no order, one of each. No locks.
-- Index: run (id), job (key), tombstone (run).
select r.id, j.id as job from towpath.run r join towpath.job j on j.key = r.job where r.id = any($1::text[])
union all
select t.run, t.job from towpath.tombstone t
-- One by one: the planner is to have no thought of reading all runs.
where t.run = any($1::text[]) and (select r.job from towpath.run r where r.id = t.run) is null
