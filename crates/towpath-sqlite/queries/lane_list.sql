-- Lists the lanes of a queue for a claim: none while it is paused.
-- ?1 queue text.
-- Returns lane, kind, version, by kind and version.
-- Index: lane (queue, kind, version), pause (queue).
select lane, kind, version from lane where queue = ?1 and not exists (select 1 from pause where queue = ?1)
order by kind, version
