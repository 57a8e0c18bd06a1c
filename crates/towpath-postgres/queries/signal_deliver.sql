-- Puts signals into inboxes. One whose dedup key is there is left out.
-- $1 bigint now (us); one array element per signal: $2 bigint[] seqs, $3 text[] runs (ids), $4 text[] names,
-- $5 text[] dedup keys (null for none), $6 smallint[] codecs, $7 bytea[] bytes.
-- Returns seq of each that was written, in no order. Locks: the new rows; waits for another
-- writer of the same key.
-- Index: arrival (run, dedup).
insert into towpath.arrival (seq, run, name, dedup, codec, bytes, at)
select i.*, $1::bigint
from unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::smallint[], $7::bytea[])
  as i(seq, run, name, dedup, codec, bytes)
on conflict (run, dedup) where dedup is not null do nothing
returning seq
