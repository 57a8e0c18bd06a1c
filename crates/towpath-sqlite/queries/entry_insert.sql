-- Appends to a run's journal.
-- ?1 job key, ?2 chapter, ?3 seq, ?4 codec: numbers; ?5 at µs, ?6 bytes.
insert into entry (run, chapter, seq, codec, at, bytes) values (?1, ?2, ?3, ?4, ?5, ?6)
