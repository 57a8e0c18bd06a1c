-- Forgets tombstones whose time is over.
-- ?1 now µs, ?2 most rows.
-- Index: tombstone (until_at, run).
delete from tombstone where run in (
    select run from tombstone where until_at <= ?1 order by until_at, run limit ?2
)
