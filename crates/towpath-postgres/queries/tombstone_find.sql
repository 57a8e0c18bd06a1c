-- Finds what is left of a run that was pruned.
-- $1 text id. Returns job (id), kind, version, state, ended_at (us), until_at (us); one row or none. No locks.
-- Index: tombstone (run), run (id), lane (lane).
select t.job, l.kind, l.version, t.state, t.ended_at, t.until_at
from towpath.tombstone t
join towpath.lane l on l.lane = t.lane
where t.run = $1::text and not exists (select 1 from towpath.run r where r.id = $1::text)
