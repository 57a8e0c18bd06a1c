-- How nodes stand, and what they left.
-- $1 bigint[] jobs (keys). Returns node, state (place in State::ALL), codec, bytes, error (the newest), in the order
-- asked. No locks.
-- Index: job (key), ended (job), running (job), later (job), blocked (job), ready (job), node (job), output (job),
-- attempt (job, attempt).
select s.node, s.state, o.codec, o.bytes,
  (select a.error from towpath.attempt a where a.job = s.key and a.error is not null order by a.attempt desc limit 1)
    as error
from unnest($1::bigint[]) with ordinality as i(job, place)
join towpath.standing s on s.key = i.job
left join towpath.output o on o.job = i.job and s.state = 4
order by i.place
