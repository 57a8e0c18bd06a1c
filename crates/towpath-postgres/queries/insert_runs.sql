-- Writes runs, without a journal yet.
-- One array element per run: $1 bigint[] jobs (keys), $2 text[] ids. Returns nothing. An id that is there is an error.
-- Locks: the new rows; waits for another writer of the same id.
insert into towpath.run (job, id, chapter, entries) select job, id, 1, 0 from unnest($1::bigint[], $2::text[]) as i(job, id)
