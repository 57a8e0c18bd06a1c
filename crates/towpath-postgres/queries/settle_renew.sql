-- Begins the next chapters of runs. The journals that end here are written before; they are kept, older ones go.
-- Answers go that nobody can ask for twice, and that are old enough.
-- $1 bigint now (us), $2 bigint up to when answers go (us), $3 text from which name, $4 text below which name; one array
-- element per run: $5 bigint[] jobs (keys), $6 int[] chapters (new), $7 smallint[] codecs, $8 bytea[] bytes of the first
-- line.
-- Returns nothing. Locks: the rows of runs that the turn holds.
-- Index: run (job), entry (run, chapter, seq), shown (run, name, seq).
with item as materialized (
  select * from unnest($5::bigint[], $6::int[], $7::smallint[], $8::bytea[]) as i(run, chapter, codec, bytes)
), begun as (
  update towpath.run r set chapter = i.chapter, entries = 1 from item i where r.job = i.run
), old as (
  delete from towpath.entry e using item i where e.run = i.run and e.chapter < i.chapter - 1
), answers as (
  delete from towpath.shown s using item i
  where s.run = i.run and s.name >= $3::text and s.name < $4::text and s.at <= $2::bigint and s.seq = 0
)
insert into towpath.entry (run, chapter, seq, codec, bytes, at)
select run, chapter, 0, codec, bytes, $1::bigint from item
