-- Says what a lane stands for.
-- ?1 lane number.
-- Returns queue, kind, version; one row.
-- Index: lane (lane).
select queue, kind, version from lane where lane = ?1
