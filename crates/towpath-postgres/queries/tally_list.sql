-- Lists what was counted from an instant on.
-- $1 smallint width, $2 bigint from (us), $3 text queue or null for any, $4 text kind or null for any, $5 int most rows.
-- Returns at (us), queue, kind, body (JSON), by at, queue, kind. No locks.
-- Index: tally (width, at, queue, kind).
select t.at, t.queue, t.kind, t.body
from towpath.tally t
where t.width = $1::smallint and t.at >= $2::bigint
  and ($3::text is null or t.queue = $3::text) and ($4::text is null or t.kind = $4::text)
order by t.at, t.queue, t.kind
limit $5::int
