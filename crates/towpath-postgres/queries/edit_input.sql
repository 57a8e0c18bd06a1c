-- Gives a job another input.
-- $1 bigint job (key), $2 smallint codec, $3 bytea input. Returns nothing. Locks: the row.
-- Index: job (key).
update towpath.job set codec = $2::smallint, input = $3::bytea where key = $1::bigint
