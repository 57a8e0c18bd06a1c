-- Deletes what was counted too long ago.
-- ?1 width number, ?2 what starts before this: µs.
-- Index: tally (width, at, queue, kind).
delete from tally where width = ?1 and at < ?2
