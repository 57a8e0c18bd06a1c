-- Writes what was counted into rows that are locked.
-- $1 smallint[] widths, $2 bigint[] at (us), $3 text[] queues, $4 text[] kinds, $5 text[] bodies (JSON).
-- Returns nothing.
-- Index: tally (width, at, queue, kind).
update towpath.tally t
set body = n.body
from unnest($1::smallint[], $2::bigint[], $3::text[], $4::text[], $5::text[]) as n (width, at, queue, kind, body)
where t.width = n.width and t.at = n.at and t.queue = n.queue and t.kind = n.kind
