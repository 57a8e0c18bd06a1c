-- Keeps outputs.
-- One array element per job: $1 bigint[] jobs, $2 smallint[] codecs, $3 bytea[] bytes. Returns nothing.
-- Locks: the new rows.
insert into towpath.output (job, codec, bytes) select * from unnest($1::bigint[], $2::smallint[], $3::bytea[])
