-- Finds a lane.
-- ?1 queue text, ?2 kind text, ?3 version number.
-- Returns lane; one row or none.
-- Index: lane (queue, kind, version).
select lane from lane where queue = ?1 and kind = ?2 and version = ?3
