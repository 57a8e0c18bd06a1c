-- Counts what has arrived for runs. Lock, then look: it comes after the statement that tries for their locks.
-- $1 bigint[] jobs (keys). Returns job, arrived, in no order. No locks.
-- Index: run (job), arrival (run, seq).
select r.job, (select count(*) from towpath.arrival a where a.run = r.id) as arrived
from towpath.run r where r.job = any($1::bigint[])
