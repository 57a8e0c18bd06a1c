-- Looks at runs and their inboxes.
-- $1 text[] runs (ids, each once), $2 text[] dedup keys.
-- Returns run, arrived (count), dedups[] (those of the keys that are there), there, ended (pruned since or not), in no order.
-- No locks.
-- Index: arrival (run, seq), arrival (run, dedup), run (id), ended (job), tombstone (run).
select r.id, (select count(*) from towpath.arrival a where a.run = r.id) as arrived,
  array(select a.dedup from towpath.arrival a where a.run = r.id and a.dedup = any($2::text[])) as dedups,
  u.job is not null as there,
  -- One by one: the planner is to have no thought of reading all tombstones.
  case when u.job is null then (select t.job from towpath.tombstone t where t.run = r.id) is not null
    else e.job is not null end as ended
from unnest($1::text[]) as r(id)
left join towpath.run u on u.id = r.id
left join towpath.ended e on e.job = u.job
