-- Nodes of a graph that could be settled now, undos left out: not running, not over, no run that has begun, and no parent holds them.
-- Where some are kept for a decision only these: what a cancel has just freed is among them, however large the graph is.
-- $1 uuid graph, $2 int limit. Returns id, by the job's key. No locks.
-- The jobs are found from an array: joined, the planner may go through every job of the store in the order of the keys.
-- Index: graph (id), node (graph, name), node (job), undecided (job), job (key), running (job), ended (job), run (job).
with held as materialized (
  select n.job
  from towpath.undecided h join towpath.node n on n.job = h.job
  where n.graph = (select graph from towpath.graph where id = $1::uuid) and n.role & 24 = 0
    and not exists (select 1 from towpath.running r where r.job = n.job)
    and not exists (select 1 from towpath.run u where u.job = n.job and u.entries > 0)
    and not exists (select 1 from towpath.ended x where x.job = n.job)
  order by n.job
  limit $2::int
)
select id
from towpath.job
where key = any(case when exists (select 1 from held) then array(select job from held) else array(
  select n.job
  from towpath.node n
  where n.graph = (select graph from towpath.graph where id = $1::uuid) and n.role & 24 = 0
    and (n.phase = 2 or n.phase = 1 and exists (select 1 from towpath.undecided u where u.job = n.job))
    and not exists (select 1 from towpath.running r where r.job = n.job)
    and not exists (select 1 from towpath.run u where u.job = n.job and u.entries > 0)
    and not exists (select 1 from towpath.ended x where x.job = n.job)
  order by n.job
  limit $2::int
) end)
order by key
