-- How jobs ended.
-- $1 uuid[] ids. Returns id, state (end's code), cause (JSON), codec, bytes, error (the newest), ended_at (us), of those
-- that have, in no order. No locks.
-- Index: job (id), ended (job), output (job), attempt (job, attempt).
select j.id, x.state, x.cause, o.codec, o.bytes,
  (select a.error from towpath.attempt a where a.job = j.key and a.error is not null order by a.attempt desc limit 1)
    as error, x.ended_at
from towpath.job j
join towpath.ended x on x.job = j.key
left join towpath.output o on o.job = j.key
where j.id = any($1::uuid[])
