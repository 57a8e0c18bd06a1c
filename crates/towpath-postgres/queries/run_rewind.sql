-- Begins the next chapter of a run whose end was taken back, with lines of the one that has ended: that journal is kept, older
-- ones go, and so does the cancel that it was told.
-- $1 bigint job (key), $2 int chapter that has ended, $3 int below which seq and $4 int[] without which, $5 int how many lines
-- these are, $6 smallint codec and $7 bytea bytes of the first line, $8 bigint now (us), $9 text the name of the cancel.
-- Returns chapter; no row if another chapter has ended. Locks: those rows.
-- Index: run (job), entry (run, chapter, seq), arrival (run, seq).
with anew as (
  update towpath.run set chapter = chapter + 1, entries = $5::int + 1 where job = $1::bigint and chapter = $2::int
  returning job, id, chapter
), old as (
  delete from towpath.entry e using anew a where e.run = a.job and e.chapter < $2::int
), told as (
  delete from towpath.arrival v using anew a where v.run = a.id and v.name = $9::text
), lines as (
  insert into towpath.entry (run, chapter, seq, codec, bytes, at)
  select a.job, a.chapter, 0, $6::smallint, $7::bytea, $8::bigint from anew a
  union all
  select a.job, a.chapter, row_number() over (order by e.seq)::int, e.codec, e.bytes, e.at
  from anew a join towpath.entry e on e.run = a.job
  where e.chapter = $2::int and e.seq >= 1 and e.seq < $3::int and e.seq <> all($4::int[])
)
select chapter from anew
