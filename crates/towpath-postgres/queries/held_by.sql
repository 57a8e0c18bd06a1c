-- Everything that a worker holds.
-- $1 bigint worker. Returns job (key), turn, idx, decide, cancel (JSON), stop (reason), is_node, by turn, idx.
-- No locks.
-- Index: running (worker, turn), stop (graph).
select r.job, r.turn, r.idx, r.decide, r.cancel, s.reason as stop, r.graph is not null as is_node
from towpath.running r left join towpath.stop s on s.graph = r.graph
where r.worker = $1::bigint
order by r.turn, r.idx
