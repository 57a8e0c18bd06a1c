-- Lists the lanes of a queue.
-- ?1 queue text.
-- Returns lane, kind, version, by kind and version.
-- Index: lane (queue, kind, version).
select lane, kind, version from lane where queue = ?1 order by kind, version
