-- Shows a parent to its child.
-- ?1 job key number.
-- Returns name, state, codec, bytes, the last error; one row. Index: primary keys.
select
    j.name, j.state, o.codec, o.bytes,
    (select a.error from attempt a where a.job = j.key and a.error is not null order by a.attempt desc limit 1)
from job_line j
left join output o on o.job = j.key
where j.key = ?1
