-- Reads a run's journal.
-- $1 uuid job (id), $2 int chapter, $3 bigint first seq, $4 int limit. Returns seq, codec, bytes, at (us), by seq.
-- No locks.
-- Index: job (id), entry (run, chapter, seq).
select e.seq, e.codec, e.bytes, e.at
from towpath.entry e
where e.run = (select key from towpath.job where id = $1::uuid) and e.chapter = $2::int and e.seq >= $3::bigint
order by e.seq limit $4::int
