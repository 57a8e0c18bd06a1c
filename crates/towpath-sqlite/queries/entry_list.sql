-- Reads a run's journal.
-- ?1 job id bytes, ?2 chapter, ?3 the first seq, ?4 most rows: numbers.
-- Returns seq, codec, bytes, at, by seq.
-- Index: job (id), entry (run, chapter, seq).
select e.seq, e.codec, e.bytes, e.at
from job j
join entry e on e.run = j.key
where j.id = ?1 and e.chapter = ?2 and e.seq >= ?3
order by e.seq
limit ?4
