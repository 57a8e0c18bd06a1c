-- Begins the next chapters of runs. The journals that end here are written before; they are kept, older ones go.
-- One array element per run: $1 bigint now (us), $2 bigint[] jobs (keys), $3 int[] chapters (new), $4 smallint[] codecs,
-- $5 bytea[] bytes of the first line.
-- Returns nothing. Locks: the rows of runs that the turn holds.
-- Index: run (job), entry (run, chapter, seq).
with item as materialized (
  select * from unnest($2::bigint[], $3::int[], $4::smallint[], $5::bytea[]) as i(run, chapter, codec, bytes)
), begun as (
  update towpath.run r set chapter = i.chapter, entries = 1 from item i where r.job = i.run
), old as (
  delete from towpath.entry e using item i where e.run = i.run and e.chapter < i.chapter - 1
)
insert into towpath.entry (run, chapter, seq, codec, bytes, at)
select run, chapter, 0, codec, bytes, $1::bigint from item
