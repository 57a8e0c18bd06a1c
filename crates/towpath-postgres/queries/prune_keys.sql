-- Forgets unique keys whose window is over.
-- $1 int limit. Returns keys (how many). Locks: those rows; locked ones are skipped.
-- Index: unique_key (until_at, scope, kind, key).
with old as materialized (
  select ctid as tid from towpath.unique_key where until_at <= towpath.clock()
  order by until_at, scope, kind, key limit $1::int for update skip locked
), gone as (
  delete from towpath.unique_key where ctid = any(array(select tid from old)) returning 1
)
select count(*) as keys from gone
