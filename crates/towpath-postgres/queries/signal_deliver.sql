-- Puts signals into inboxes. One whose dedup key is there is left out.
-- $1 bigint now (us), $2 bigint prune_at (us) of one whose run is not there; one array element per signal:
-- $3 bigint[] seqs, $4 text[] runs (ids), $5 text[] names, $6 text[] dedup keys (null for none), $7 smallint[] codecs,
-- $8 bytea[] bytes.
-- Returns seq of each that was written, in no order. Locks: the new rows; waits for another
-- writer of the same key.
-- Index: arrival (run, dedup), run (id).
insert into towpath.arrival (seq, run, name, dedup, codec, bytes, at, prune_at)
select i.*, $1::bigint, case when not exists (select 1 from towpath.run r where r.id = i.run) then $2::bigint end
from unnest($3::bigint[], $4::text[], $5::text[], $6::text[], $7::smallint[], $8::bytea[])
  as i(seq, run, name, dedup, codec, bytes)
on conflict (run, dedup) where dedup is not null do nothing
returning seq
