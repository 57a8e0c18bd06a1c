-- Writes how far jobs are, in place of what was there.
-- $1 bigint now (us); one array element per job, none twice: $2 bigint[] jobs (keys), $3 int[] attempts, $4 text[] bodies (JSON).
-- Returns nothing. Locks: those rows, of jobs whose claims are locked.
-- Index: progress (job).
insert into towpath.progress (job, attempt, at, body)
select i.job, i.attempt, $1::bigint, i.body from unnest($2::bigint[], $3::int[], $4::text[]) as i(job, attempt, body)
on conflict (job) do update set attempt = excluded.attempt, at = excluded.at, body = excluded.body
