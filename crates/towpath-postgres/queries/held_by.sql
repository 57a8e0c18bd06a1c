-- Everything that a worker holds.
-- $1 bigint worker. Returns job (key), turn, idx, decide, cancel (JSON), stop (reason, unless it handles the failure
-- that stopped its graph, is an undo, or is a run, which an arrival tells), is_node, by turn, idx.
-- No locks.
-- Index: running (worker, turn), stop (graph), node (job), run (job).
select r.job, r.turn, r.idx, r.decide, r.cancel, case when n.role & (case s.reason when 3 then 80 else 16 end) <> 0 then null else s.reason end as stop,
  r.graph is not null as is_node
from towpath.running r
left join towpath.stop s on s.graph = r.graph and not exists (select 1 from towpath.run u where u.job = r.job)
left join towpath.node n on n.job = case when s.reason in (0, 3) then r.job end
where r.worker = $1::bigint
order by r.turn, r.idx
