-- Looks who has the unique key that a graph which has ended would hold again.
-- $1 bigint graph (key), $2 bigint now (us).
-- Returns id, name, key, by (id of another one that has it, or null); one row or none. No locks: `key_lock_graphs` has them.
-- Index: graph (graph), unique_key (scope, kind, key).
select o.id, o.name, o.key, case when (h.holder->>'job')::bigint <> $1::bigint then (h.holder->>'id')::uuid end as by
from (
  select g.id, g.name, g.rules::jsonb->'own_key'->>'key' as key
  from towpath.graph g
  where g.graph = $1::bigint and g."end" is not null and g.rules::jsonb ? 'own_key'
) as o cross join lateral (select towpath.key_holder($2::bigint, 1, o.name, o.key) as holder) as h
