-- Nodes of a graph that could be settled now, undos left out: not running, not over, no run that has begun, and no parent holds them.
-- $1 uuid graph, $2 int limit. Returns id, by the job's key. No locks.
-- Index: graph (id), node (graph, name), undecided (job), job (key), running (job), ended (job), run (job).
select j.id
from towpath.node n join towpath.job j on j.key = n.job
where n.graph = (select graph from towpath.graph where id = $1::uuid) and n.role & 24 = 0
  and (n.phase = 2 or exists (select 1 from towpath.undecided u where u.job = n.job))
  and not exists (select 1 from towpath.running r where r.job = n.job)
  and not exists (select 1 from towpath.run u where u.job = n.job and u.entries > 0)
  and not exists (select 1 from towpath.ended x where x.job = n.job)
order by n.job
limit $2::int
