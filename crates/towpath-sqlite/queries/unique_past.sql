-- Forgets unique keys whose window is over.
-- ?1 now µs, ?2 limit number.
-- Index: unique_key (until_at), unique_key (scope, kind, key).
delete from unique_key where (scope, kind, key) in (
    select scope, kind, key from unique_key where until_at <= ?1 order by until_at, scope, kind, key limit ?2
)
