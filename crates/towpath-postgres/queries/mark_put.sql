-- Writes what jobs keep under names, in place of what was there.
-- $1 bigint now (us); one array element per mark, none twice: $2 bigint[] jobs (keys), $3 text[] names, $4 smallint[] codecs,
-- $5 bytea[] bytes.
-- Returns nothing. Locks: those rows, of jobs whose claims are locked.
-- Index: mark (job, name).
insert into towpath.mark (job, name, codec, at, bytes)
select i.job, i.name, i.codec, $1::bigint, i.bytes
from unnest($2::bigint[], $3::text[], $4::smallint[], $5::bytea[]) as i(job, name, codec, bytes)
on conflict (job, name) do update set codec = excluded.codec, at = excluded.at, bytes = excluded.bytes
