-- Deletes what was counted too long ago. A row that somebody else has locked is left for the next.
-- $1 smallint width, $2 bigint what starts before this (us). Returns nothing.
-- Locks: the rows that go.
-- Index: tally (width, at, queue, kind).
delete from towpath.tally t
where (t.width, t.at, t.queue, t.kind) in (
  select o.width, o.at, o.queue, o.kind from towpath.tally o
  where o.width = $1::smallint and o.at < $2::bigint
  order by o.at, o.queue, o.kind
  for update skip locked
)
