-- Which of these runs are there.
-- $1 text[] ids. Returns id, job (id), in no order. No locks.
-- Index: run (id), job (key).
select r.id, j.id as job from towpath.run r join towpath.job j on j.key = r.job where r.id = any($1::text[])
