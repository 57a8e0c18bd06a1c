-- Lists what a worker holds with a handler and should stop. A run is told by an arrival.
-- ?1 worker key, ?2 the code of the stop that cancels: numbers.
-- Returns job, turn, idx, cancel, by turn and idx.
-- Index: running (worker, turn, idx), job (key), stop (graph).
select r.job, r.turn, r.idx, r.cancel
from running r
join job j on j.key = r.job
where r.worker = ?1
    and r.decide = 0
    and j.run is null
    and (r.cancel is not null or exists (select 1 from stop s where s.graph = j.graph and s.reason = ?2))
order by r.turn, r.idx
