-- Finds the run that a job is, if it has begun and not ended: its journal has entries, or it is with a handler.
-- ?1 job key number.
-- Returns its id; one row or none.
-- Index: run (job), ended (job), running (job).
select u.id
from run u
where u.job = ?1
    and (u.entries > 0 or exists (select 1 from running r where r.job = u.job and r.decide = 0))
    and not exists (select 1 from ended e where e.job = u.job)
