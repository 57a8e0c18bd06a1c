-- Gives jobs tags besides those that they have.
-- One array element per tag: $1 bigint[] jobs (keys), $2 text[] tags. Returns nothing.
-- Locks: the new rows, of jobs whose claims are locked.
-- Index: tag (job, tag).
insert into towpath.tag (job, tag) select i.job, i.tag from unnest($1::bigint[], $2::text[]) as i(job, tag)
on conflict (job, tag) do nothing
