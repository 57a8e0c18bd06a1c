-- Takes over what the victims hold: worker, turn and index change, nothing else.
-- $1 bigint asker (key), $2 bigint turn, $3 bigint[] victims (keys), $4 int limit. Returns nothing.
-- Locks: those rows; locked ones are skipped.
-- Index: running (worker, turn), running (job).
with free as materialized (
  select job, worker, turn, idx from towpath.running where worker = any($3::bigint[])
  order by worker, turn, idx
  limit $4::int
  for update skip locked
), item as materialized (
  select job, row_number() over (order by worker, turn, idx) - 1 as idx from free
)
update towpath.running r set worker = $1::bigint, turn = $2::bigint, idx = i.idx from item i where r.job = i.job
