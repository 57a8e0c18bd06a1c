-- Says how a job ended.
-- ?1 id bytes.
-- Returns state, cause, codec, bytes, the last error, ended_at; one row or none.
-- Index: job (id), ended (job), output (job), attempt (job, attempt).
select
    e.state, e.cause, o.codec, o.bytes,
    (select a.error from attempt a where a.job = j.key and a.error is not null order by a.attempt desc limit 1),
    e.ended_at
from job j
join ended e on e.job = j.key
left join output o on o.job = j.key
where j.id = ?1
