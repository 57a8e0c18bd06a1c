-- Writes what is new about jobs that nobody has; null leaves as it is.
-- $1 bigint[] jobs (keys), $2 smallint[] priorities, $3 smallint[] codecs, $4 bytea[] inputs, $5 bigint[] due (us) of nodes
-- that wait. Returns nothing.
-- Locks: the rows.
-- Index: job (key), mark (job, name).
with forgotten as (
  -- What was kept was made of the input before.
  delete from towpath.mark m using unnest($1::bigint[], $4::bytea[]) as e(job, input)
  where m.job = e.job and e.input is not null
)
update towpath.job j
set priority = coalesce(e.priority, j.priority), codec = coalesce(e.codec, j.codec), input = coalesce(e.input, j.input),
  due_at = coalesce(e.due, j.due_at), delay_us = case when e.due is null then j.delay_us end
from unnest($1::bigint[], $2::smallint[], $3::smallint[], $4::bytea[], $5::bigint[]) as e(job, priority, codec, input, due)
where j.key = e.job
