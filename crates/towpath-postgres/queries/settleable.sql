-- Nodes of a graph that could be settled now, undos left out: not running, not over, no run
-- that has begun, and no parent holds them.
-- Where a failure has stopped it, neither what handles it is listed nor what is kept for a decision.
-- Else, where some are kept for a decision only these: what a cancel has just freed is among them, however large the graph is.
-- $1 uuid graph, $2 int limit. Returns id, by the job's key. No locks.
-- The jobs are found from an array: joined, the planner may go through every job of the store in the order of the keys.
-- Index: graph (id), stop (graph), node (graph, name), node (job), undecided (job), job (key), running (job), ended (job), run (job).
with which as materialized (
  select g.graph, case s.reason when 3 then 24 | 64 else 24 end as left_out, s.reason is distinct from 3 as with_held
  from towpath.graph g left join towpath.stop s on s.graph = g.graph
  where g.id = $1::uuid
), held as materialized (
  select n.job
  from towpath.undecided h join towpath.node n on n.job = h.job
  where (select with_held from which) and n.graph = (select graph from which) and n.role & (select left_out from which) = 0
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
  where n.graph = (select graph from which) and n.role & (select left_out from which) = 0
    and n.phase = 2
    and not exists (select 1 from towpath.running r where r.job = n.job)
    and not exists (select 1 from towpath.run u where u.job = n.job and u.entries > 0)
    and not exists (select 1 from towpath.ended x where x.job = n.job)
  order by n.job
  limit $2::int
) end)
order by key
