-- Appends to the journals of runs.
-- $1 bigint now (us); one array element per entry: $2 bigint[] runs (keys), $3 int[] chapters, $4 int[] seqs,
-- $5 smallint[] codecs, $6 bytea[] bytes. Returns nothing. Locks: the run rows, whose claims are locked.
-- Index: run (job).
with item as materialized (
  select * from unnest($2::bigint[], $3::int[], $4::int[], $5::smallint[], $6::bytea[]) as i(run, chapter, seq, codec, bytes)
), grown as (
  update towpath.run r set entries = i.entries
  from (select run, max(seq) + 1 as entries from item group by run) i where r.job = i.run
)
insert into towpath.entry (run, chapter, seq, codec, bytes, at)
select run, chapter, seq, codec, bytes, $1::bigint from item
