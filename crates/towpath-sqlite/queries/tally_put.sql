-- Writes what was counted of one kind in one queue within one span, in place of what is there.
-- ?1 width number, ?2 at µs, ?3 queue, ?4 kind, ?5 body JSON.
-- Index: tally (width, at, queue, kind).
insert or replace into tally (width, at, queue, kind, body) values (?1, ?2, ?3, ?4, ?5)
