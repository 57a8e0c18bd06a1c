-- The jobs of a kind that have not ended, as an application's transaction sees them. For tests: it goes through all jobs.
-- ?1 kind, ?2 most rows.
-- Returns codec, input, newest first.
-- Index: job (key), lane (lane), ended (job).
select j.codec, j.input
from job j
cross join lane l on l.lane = j.lane
where l.kind = ?1 and not exists (select 1 from ended e where e.job = j.key)
order by j.key desc
limit ?2
