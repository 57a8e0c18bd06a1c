-- Shows a parent to its child.
-- ?1 job key number.
-- Returns name, state, codec, bytes, the last error; one row.
-- Index: job (key), lane (lane), ended (job), running (job), blocked (job), later (job), ready (lane, turnout, seq),
-- ready (job), node (job), output (job), attempt (job, attempt).
select
    j.name, j.state, o.codec, o.bytes,
    (select a.error from attempt a where a.job = j.key and a.error is not null order by a.attempt desc limit 1)
from job_line j
left join output o on o.job = j.key
where j.key = ?1
