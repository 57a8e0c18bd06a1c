-- Looks at the inboxes of runs.
-- $1 text[] runs (ids, each once), $2 text[] dedup keys.
-- Returns run, arrived (count), dedups[] (those of the keys that are there), in no order. No locks.
-- Index: arrival (run, seq), arrival (run, dedup).
select r.id, (select count(*) from towpath.arrival a where a.run = r.id) as arrived,
  array(select a.dedup from towpath.arrival a where a.run = r.id and a.dedup = any($2::text[])) as dedups
from unnest($1::text[]) as r(id)
