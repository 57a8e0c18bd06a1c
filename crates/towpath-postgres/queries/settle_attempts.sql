-- Keeps records of attempts, and of each job only the first and the newest.
-- $1 bigint ended_at (us), $2 int how many of the newest stay; one array element per record: $3 bigint[] jobs,
-- $4 int[] attempts, $5 smallint[] outcomes, $6 bigint[] started_at (us), $7 text[] errors, $8 text[] logs.
-- Returns nothing. Locks: the rows.
-- Index: attempt (job, attempt).
with long as materialized (
  select i.job, i.attempt from unnest($3::bigint[], $4::int[]) as i(job, attempt) where i.attempt > $2::int
), old as (
  delete from towpath.attempt a using long
  where a.job = long.job
    and a.attempt > (select min(f.attempt) from towpath.attempt f where f.job = a.job)
    and a.attempt <= (
      select n.attempt from towpath.attempt n where n.job = a.job and n.attempt <> long.attempt
      order by n.attempt desc limit 1 offset $2::int - 1)
)
insert into towpath.attempt (job, attempt, outcome, started_at, error, log, ended_at)
select i.*, $1::bigint
from unnest($3::bigint[], $4::int[], $5::smallint[], $6::bigint[], $7::text[], $8::text[]) as i
on conflict (job, attempt) do update
set outcome = excluded.outcome, started_at = excluded.started_at, ended_at = excluded.ended_at,
  error = excluded.error, log = excluded.log
