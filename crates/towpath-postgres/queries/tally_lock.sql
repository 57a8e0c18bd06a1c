-- Makes the rows of what is to be added, or locks those that are there.
-- $1 smallint[] widths, $2 bigint[] at (us), $3 text[] queues, $4 text[] kinds, in the order of the key.
-- Returns width, at (us), queue, kind, body (JSON; empty of a new row), in any order.
-- Locks: the rows, in the order of the key, so that two workers do not wait for each other.
-- Index: tally (width, at, queue, kind).
insert into towpath.tally as t (width, at, queue, kind, body)
select n.width, n.at, n.queue, n.kind, ''
from unnest($1::smallint[], $2::bigint[], $3::text[], $4::text[]) with ordinality as n (width, at, queue, kind, ord)
order by n.ord
on conflict (width, at, queue, kind) do update set body = t.body
returning t.width, t.at, t.queue, t.kind, t.body
