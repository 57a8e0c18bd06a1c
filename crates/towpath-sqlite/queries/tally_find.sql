-- Reads what was counted of one kind in one queue within one span.
-- ?1 width number, ?2 at µs, ?3 queue, ?4 kind. Returns body JSON; one row or none.
-- Index: tally (width, at, queue, kind).
select body from tally where width = ?1 and at = ?2 and queue = ?3 and kind = ?4
