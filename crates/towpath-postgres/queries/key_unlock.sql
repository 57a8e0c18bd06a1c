-- Deletes the rows of no job that `key_lock` left.
-- $1 uuid[] ids. Returns nothing. Locks: those rows (held already).
-- Index: job (id), lane (lane), unique_key (scope, kind, key).
delete from towpath.unique_key u using towpath.job j join towpath.lane l on l.lane = j.lane
where j.id = any($1::uuid[]) and j.rules::jsonb ? 'own_key' and u.scope = 0 and u.kind = l.kind
  and u.key = j.rules::jsonb->'own_key'->>'key' and u.job = 0
