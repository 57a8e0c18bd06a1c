-- Deletes the rows of no job that `key_lock_graphs` left. The graphs are looked up by their ids first: a name may be that of many.
-- $1 uuid[] ids. Returns nothing. Locks: those rows (held already).
-- Index: graph (id), unique_key (job).
with given as materialized (
  select g.name, g.rules::jsonb->'own_key'->>'key' as key
  from towpath.graph g
  where g.id = any($1::uuid[]) and g.rules::jsonb ? 'own_key'
)
delete from towpath.unique_key u using given g
where u.scope = 1 and u.kind = g.name and u.key = g.key and u.job = 0
