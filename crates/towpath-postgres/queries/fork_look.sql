-- Counts the lines that a fork goes on from.
-- $1 bigint job (key), $2 int chapter, $3 int below which seq, $4 int[] without which. Returns lines; one row. No locks.
-- Index: entry (run, chapter, seq).
select count(*) as lines from towpath.entry
where run = $1::bigint and chapter = $2::int and seq >= 1 and seq < $3::int and seq <> all($4::int[])
