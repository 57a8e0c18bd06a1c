-- Keeps records of attempts, and of each job only the first and the newest.
-- $1 bigint ended_at (us); one array element per record: $2 bigint[] jobs, $3 int[] attempts, $4 smallint[] outcomes,
-- $5 bigint[] started_at (us), $6 text[] errors, $7 text[] logs; $8 int how many of the newest stay.
-- Returns nothing. Locks: the rows.
-- Index: attempt (job, attempt).
with long as materialized (
  select i.job, i.attempt from unnest($2::bigint[], $3::int[]) as i(job, attempt) where i.attempt > $8::int
), old as (
  delete from towpath.attempt a using long
  where a.job = long.job
    and a.attempt > (select min(f.attempt) from towpath.attempt f where f.job = a.job)
    and a.attempt <= (
      select n.attempt from towpath.attempt n where n.job = a.job and n.attempt <> long.attempt
      order by n.attempt desc limit 1 offset $8::int - 1)
)
insert into towpath.attempt (job, attempt, outcome, started_at, error, log, ended_at)
select i.*, $1::bigint
from unnest($2::bigint[], $3::int[], $4::smallint[], $5::bigint[], $6::text[], $7::text[]) as i
on conflict (job, attempt) do update
set outcome = excluded.outcome, started_at = excluded.started_at, ended_at = excluded.ended_at,
  error = excluded.error, log = excluded.log
