-- Which nodes were released, have not started, and have a parent that is to end first.
-- $1 bigint[] jobs (keys). Returns job, in no order. No locks.
-- Index: node (job), ended (job), running (job), run (job).
select n.job from towpath.node n
where n.job = any($1::bigint[]) and n.phase = 2 and n."left" > 0 and not (n.eager and n.ok >= n.need)
  and not exists (select 1 from towpath.ended x where x.job = n.job)
  and not exists (select 1 from towpath.running r where r.job = n.job and r.decide <> 2)
  and not exists (select 1 from towpath.run u where u.job = n.job and u.entries > 0)
