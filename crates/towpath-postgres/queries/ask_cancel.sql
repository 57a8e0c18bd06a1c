-- Asks the workers of running jobs to stop them; who asked first stays.
-- One array element per job: $1 bigint[] jobs (keys), $2 text[] causes (JSON). Returns nothing.
-- Locks: those rows (held already).
-- Index: running (job).
update towpath.running r set cancel = coalesce(r.cancel, i.cause)
from unnest($1::bigint[], $2::text[]) as i(job, cause)
where r.job = i.job
