-- Takes one job of the head under a lease, for a turn that claims job by job.
-- $1 bigint now (us), $2 bigint worker, $3 bigint turn, $4 int index, $5 int lane, $6 int turnout, $7 bigint seq.
-- Returns job (key); one row, or none if it is gone.
-- Locks: the ready row.
-- Index: ready (lane, turnout, seq), job (key), stop (graph), node (job), run (job).
with gone as (
  delete from towpath.ready where lane = $5::int and turnout = $6::int and seq = $7::bigint returning *
)
insert into towpath.running (job, worker, turn, started_at, graph, idx, lane, turnout, attempt, failures, crashes,
  decide, id)
select g.job, $2::bigint, $3::bigint, $1::bigint, j.graph, $4::int, g.lane, g.turnout,
  g.attempt + case when s.reason is null or n.role & (case s.reason when 3 then 80 else 16 end) <> 0 then 1 else 0 end, g.failures, g.crashes,
  case when s.reason is null or n.role & (case s.reason when 3 then 80 else 16 end) <> 0 then 0 else 2 end, j.id
from gone g
join towpath.job j on j.key = g.job
left join towpath.stop s on s.graph = j.graph
  and (s.reason not in (0, 3) or not exists (
    select 1 from towpath.run u where u.job = j.key and u.entries > 0))
left join towpath.node n on n.job = case when s.reason in (0, 3) then g.job end
returning job
