-- Deletes the rows of no job that `key_lock_graphs` left.
-- $1 uuid[] ids. Returns nothing. Locks: those rows (held already).
-- Index: graph (id), unique_key (job).
delete from towpath.unique_key u using towpath.graph g
where g.id = any($1::uuid[]) and g.rules::jsonb ? 'own_key' and u.scope = 1 and u.kind = g.name
  and u.key = g.rules::jsonb->'own_key'->>'key' and u.job = 0
