-- Forgets tombstones whose time is over.
-- $1 int limit. Returns tombstones (how many). Locks: those rows; locked ones are skipped.
-- Index: tombstone (until_at, run).
with old as materialized (
  select ctid as tid from towpath.tombstone where until_at <= towpath.clock()
  order by until_at, run limit $1::int for update skip locked
), gone as (
  delete from towpath.tombstone where ctid = any(array(select tid from old)) returning 1
)
select count(*) as tombstones from gone
