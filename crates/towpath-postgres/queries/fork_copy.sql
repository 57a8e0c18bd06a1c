-- Gives a run that was just written the lines that it goes on from.
-- $1 bigint job (key) of the other run, $2 int chapter, $3 int below which seq, $4 int[] without which, $5 int how many lines
-- these are; $6 bigint job (key) of the new one, $7 smallint codec and $8 bytea bytes of its first line, $9 bigint now (us),
-- $10 text where it was forked from (JSON).
-- Returns lines (how many were written, the first one included); one row. Locks: the row of the new run.
-- Index: entry (run, chapter, seq), run (job).
with begun as (
  update towpath.run set entries = $5::int + 1, origin = $10::text where job = $6::bigint
), lines as (
  insert into towpath.entry (run, chapter, seq, codec, bytes, at)
  select $6::bigint, 1, 0, $7::smallint, $8::bytea, $9::bigint
  union all
  select $6::bigint, 1, row_number() over (order by e.seq)::int, e.codec, e.bytes, e.at
  from towpath.entry e
  where e.run = $1::bigint and e.chapter = $2::int and e.seq >= 1 and e.seq < $3::int and e.seq <> all($4::int[])
  returning seq
)
select count(*) as lines from lines
