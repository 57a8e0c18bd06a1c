-- What a worker holds of one turn.
-- $1 bigint worker, $2 bigint turn, $3 int first index, $4 int past the last index.
-- Returns job (key), idx, decide, attempt, failures, crashes, id, lane, rules, deadline (us), graph (id), node, stop
-- (reason), codec, input and headers (with a handler only), enqueued_at (us); for parents' decisions ok, untaken,
-- spoiled, need, cause_node, cause_end; for an end's decision graph_key, graph_rules, undoing (code), undo_rank,
-- end_left; role; of a run its id,
-- chapter, entries, whether it is paused. By idx.
-- No locks.
-- Index: running (worker, turn), job (key), graph (graph), stop (graph), node (job), ended (job), run (job).
select r.job, r.idx, r.decide, r.attempt, r.failures, r.crashes, r.id, r.lane, j.rules, j.deadline, g.id as graph,
  n.name as node, s.reason as stop, j.codec, case when r.decide = 0 then j.input end as input,
  case when r.decide = 0 then j.headers end as headers, j.enqueued_at,
  n.ok, n.untaken, n.spoiled, n.need, c.name as cause_node, x.state as cause_end, g.graph as graph_key,
  g.rules as graph_rules, g.undoing, g.undo_rank, n."left" as end_left, n.role, u.id as run, u.chapter, u.entries,
  u.paused is not null as paused
from towpath.running r
join towpath.job j on j.key = r.job
left join towpath.graph g on g.graph = r.graph
left join towpath.stop s on s.graph = r.graph
left join towpath.node n on n.job = case when r.graph is not null then r.job end
left join towpath.node c on c.job = case when r.decide = 1 then n.cause_parent end
left join towpath.ended x on x.job = c.job
left join towpath.run u on u.job = case when j.run then j.key end
where r.worker = $1::bigint and r.turn = $2::bigint and r.idx >= $3::int and r.idx < $4::int
order by r.idx
