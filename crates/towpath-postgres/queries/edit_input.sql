-- Gives a job another input, which takes what it has kept away.
-- $1 bigint job (key), $2 smallint codec, $3 bytea input. Returns nothing. Locks: the row.
-- Index: job (key), mark (job, name).
with forgotten as (
  -- What was kept was made of the input before.
  delete from towpath.mark where job = $1::bigint
)
update towpath.job set codec = $2::smallint, input = $3::bytea where key = $1::bigint
