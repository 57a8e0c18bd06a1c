-- Reads what a worker was given in a turn.
-- ?1 worker key, ?2 turn: numbers.
-- Returns job, idx, decide, lane, attempt, failures, crashes, id, graph, deadline, enqueued_at, rules, headers, codec,
-- input, run, and of a node its graph's id, its name, its role, by idx.
-- Index: running (worker, turn, idx), job (key), graph (graph), node (job).
select
    r.job, r.idx, r.decide, r.lane, r.attempt, r.failures, r.crashes,
    j.id, j.graph, j.deadline, j.enqueued_at, j.rules, j.headers, j.codec, j.input, j.run,
    g.id, n.name, n.role
from running r
join job j on j.key = r.job
left join graph g on g.graph = j.graph
left join node n on n.job = r.job and j.graph is not null
where r.worker = ?1 and r.turn = ?2
order by r.idx
