-- Writes runs, without a journal yet.
-- One array element per run: $1 bigint[] jobs (keys), $2 text[] ids, $3 bigint[] keep_id_us (null for none). Returns nothing.
-- An id that is there is an error.
-- Locks: the new rows; waits for another writer of the same id.
insert into towpath.run (job, id, chapter, entries, keep_id_us)
select job, id, 1, 0, keep_id_us from unnest($1::bigint[], $2::text[], $3::bigint[]) as i(job, id, keep_id_us)
