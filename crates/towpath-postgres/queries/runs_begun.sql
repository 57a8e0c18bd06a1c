-- Which of these runs have begun and not ended: their journals have entries, or they are with a handler.
-- $1 bigint[] jobs (keys). Returns job, id, in no order. No locks.
-- Index: run (job), ended (job), running (job).
select u.job, u.id
from towpath.run u
where u.job = any($1::bigint[])
  and (u.entries > 0
    or exists (select 1 from towpath.running r where r.job = u.job and r.decide = 0))
  and not exists (select 1 from towpath.ended x where x.job = u.job)
