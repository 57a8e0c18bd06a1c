-- Finds lanes by their parts, and makes those that are missing. Safe to repeat.
-- $1 text[] queues, $2 text[] kinds, $3 int[] versions: one lane each.
-- Returns lane, queue, kind, version, in no order; a lane made by another at the same time is left out: ask again.
-- Locks: the new rows, in the order of that index.
-- Index: lane (queue, kind, version).
with wanted as materialized (
  select distinct queue collate "C" as queue, kind collate "C" as kind, version
  from unnest($1::text[], $2::text[], $3::int[]) as w(queue, kind, version)
), made as (
  insert into towpath.lane (queue, kind, version)
  select w.queue, w.kind, w.version from wanted w
  where not exists (select 1 from towpath.lane l where l.queue = w.queue and l.kind = w.kind and l.version = w.version)
  order by 1, 2, 3
  on conflict do nothing
  returning lane, queue, kind, version
)
select lane, queue, kind, version from made
union all
select l.lane, l.queue, l.kind, l.version
from wanted w join towpath.lane l on l.queue = w.queue and l.kind = w.kind and l.version = w.version
