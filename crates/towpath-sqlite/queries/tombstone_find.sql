-- Finds what is left of a run that was pruned.
-- ?1 run id text.
-- Returns job id, kind, version, state, ended_at, until_at; one row or none.
-- Index: tombstone (run), run (id), lane (lane).
select t.job, l.kind, l.version, t.state, t.ended_at, t.until_at
from tombstone t
join lane l on l.lane = t.lane
where t.run = ?1 and not exists (select 1 from run r where r.id = ?1)
