-- Locks the unique keys that graphs have again when they are retried, in the order in which an enqueue locks them; one that
-- nobody has gets a row of no job.
-- $1 uuid[] ids. Returns nothing. Locks: those rows.
-- Index: graph (id), unique_key (scope, kind, key).
insert into towpath.unique_key as u (scope, kind, key, job, id, hold, at)
select distinct 1, g.name, (g.rules::jsonb->'own_key'->>'key') collate "C", 0,
  '00000000-0000-0000-0000-000000000000'::uuid, 1, 0
from towpath.graph g
where g.id = any($1::uuid[]) and g.rules::jsonb ? 'own_key'
order by 2, 3
on conflict (scope, kind, key) do update set hold = u.hold
