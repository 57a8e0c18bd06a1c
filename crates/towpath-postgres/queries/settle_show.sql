-- Writes what runs show to their clients, in place of what they have shown under those names before.
-- $1 bigint now (us); one array element per showing, no two of a run and a name: $2 bigint[] runs (keys), $3 text[] names,
-- $4 smallint[] codecs, $5 bytea[] bytes.
-- Returns nothing. Locks: those rows, of runs whose claims are locked.
-- Index: shown (run, name).
insert into towpath.shown (run, name, codec, bytes, at)
select run, name, codec, bytes, $1::bigint
from unnest($2::bigint[], $3::text[], $4::smallint[], $5::bytea[]) as i(run, name, codec, bytes)
on conflict (run, name) do update set codec = excluded.codec, bytes = excluded.bytes, at = excluded.at
