-- Looks who has the unique key that a job which has ended would hold again.
-- $1 bigint job (key), $2 bigint now (us), $3 smallint[] ends that it may leave.
-- Returns kind, key, hold, by (id of another one that has it, or null); one row or none. No locks: `key_lock` has them.
-- Index: job (key), lane (lane), ended (job), unique_key (scope, kind, key).
select o.kind, o.key, case when o.until_started then 0 else 1 end::smallint as hold,
  case when (h.holder->>'job')::bigint <> $1::bigint then (h.holder->>'id')::uuid end as by
from (
  select l.kind, j.rules::jsonb->'own_key'->>'key' as key, e.attempt,
    coalesce((j.rules::jsonb->'own_key'->>'until_started')::boolean, false) as until_started
  from towpath.job j join towpath.lane l on l.lane = j.lane join towpath.ended e on e.job = j.key
  where j.key = $1::bigint and j.rules::jsonb ? 'own_key' and e.state = any($3::smallint[])
) as o cross join lateral (select towpath.key_holder($2::bigint, 0, o.kind, o.key) as holder) as h
where o.attempt = 0 or not o.until_started
