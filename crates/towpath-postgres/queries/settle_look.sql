-- Locks what a turn settles and reads the claims.
-- $1 bigint[] jobs (keys). Returns job, id, worker, turn, idx, decide, started_at (us), cancel, graph (key), lane,
-- turnout, stop (reason of the graph's stop, or null; null too if it handles the failure that stopped it, is an undo,
-- or is a run with a handler, which an arrival tells), phase (of a node that came stopped), attempt, by job.
-- Locks: the running rows, in the order of their keys.
-- Index: running (job), stop (graph), node (job), run (job).
select r.job, r.id, r.worker, r.turn, r.idx, r.decide, r.started_at, r.cancel, r.graph, r.lane, r.turnout,
  case when h.role & (case s.reason when 3 then 80 else 16 end) <> 0 then null else s.reason end as stop, n.phase, r.attempt
from towpath.running r
left join towpath.stop s on s.graph = r.graph
  and not (r.decide = 0 and exists (select 1 from towpath.run u where u.job = r.job))
left join towpath.node h on h.job = case when s.reason in (0, 3) then r.job end
left join towpath.node n on n.job = case when r.decide = 2 then r.job end
where r.job = any($1::bigint[])
order by r.job
for update of r
