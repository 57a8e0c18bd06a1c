-- Everything that a worker holds.
-- $1 bigint worker. Returns job (key), turn, idx, decide, cancel (JSON), stop (reason; a run is told by an arrival), is_node, by turn, idx.
-- No locks.
-- Index: running (worker, turn), stop (graph), run (job).
select r.job, r.turn, r.idx, r.decide, r.cancel, s.reason as stop, r.graph is not null as is_node
from towpath.running r 
left join towpath.stop s on s.graph = r.graph and not exists (select 1 from towpath.run u where u.job = r.job)
where r.worker = $1::bigint
order by r.turn, r.idx
