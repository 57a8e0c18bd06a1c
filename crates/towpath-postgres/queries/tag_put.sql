-- Gives jobs tags, unless they have them.
-- One array element per tag: $1 uuid[] ids of the jobs, $2 text[] tags. Returns nothing. Locks: the new rows.
-- Index: job (id), tag (job, tag).
insert into towpath.tag (job, tag)
select j.key, i.tag from unnest($1::uuid[], $2::text[]) as i(id, tag) join towpath.job j on j.id = i.id
on conflict (job, tag) do nothing
