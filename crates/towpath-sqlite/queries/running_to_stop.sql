-- Lists what a worker holds with a handler and should stop. A run is told by an arrival.
-- ?1 worker key number.
-- Returns job, turn, idx, cancel, and the reason of a stop that asks for it, by turn and idx.
-- Index: running (worker, turn, idx), job (key), stop (graph), node (job).
select r.job, r.turn, r.idx, r.cancel, s.reason
from running r
join job j on j.key = r.job
left join stop s on s.graph = j.graph and s.reason in (0, 3)
left join node n on n.job = case when s.reason in (0, 3) then r.job end
where r.worker = ?1
    and r.decide = 0
    and j.run is null
    and (r.cancel is not null or (s.reason is not null and ifnull(n.role & case s.reason when 3 then 80 else 16 end, 0) = 0))
order by r.turn, r.idx
