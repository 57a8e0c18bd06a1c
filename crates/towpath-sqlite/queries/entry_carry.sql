-- Copies lines of a journal to the beginning of another, behind its first line.
-- ?1 from which job key, ?2 of which chapter, ?3 below which seq: numbers; ?4 without which seqs (JSON); ?5 to which job key,
-- ?6 to which chapter: numbers.
-- Changes as many rows as there were.
-- Index: entry (run, chapter, seq).
insert into entry (run, chapter, seq, codec, at, bytes)
select ?5, ?6, row_number() over (order by seq), codec, at, bytes
from entry
where run = ?1 and chapter = ?2 and seq >= 1 and seq < ?3 and seq not in (select value from json_each(?4))
