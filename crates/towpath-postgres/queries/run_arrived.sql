-- Counts what has arrived for runs, and looks for stops of their graphs that nobody has told them of: one that came while the
-- run was being claimed saw no run that had begun, and the claim saw no stop. Lock, then look: it comes after the statement that
-- tries for their locks.
-- $1 bigint[] jobs (keys), $2 text dedup key of a cancel. Returns job, arrived, id, actor and why of the stop (null if there is none),
-- in no order. No locks.
-- Index: run (job), arrival (run, seq), arrival (run, dedup), job (key), stop (graph), node (job).
select r.job, (select count(*) from towpath.arrival a where a.run = r.id) as arrived, r.id, s.actor, s.why
from towpath.run r
left join lateral (
  select p.actor, p.why
  from towpath.job j
  join towpath.stop p on p.graph = j.graph
  join towpath.node n on n.job = j.key
  where j.key = r.job and p.reason in (0, 3) and n.role & (case p.reason when 3 then 80 else 16 end) = 0
    and not exists (select 1 from towpath.arrival a where a.run = r.id and a.dedup = $2::text)
) s on true
where r.job = any($1::bigint[])
