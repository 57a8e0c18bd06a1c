-- Leases undecided nodes that nobody holds to a worker.
-- $1 bigint now (us), $2 bigint worker, $3 bigint turn, $4 int first index, $5 int limit.
-- Returns job of each, in no order. Locks: those rows;
-- locked ones are skipped.
-- Index: undecided (job), node (job), job (key), stop (graph).
with free as materialized (
  select job from towpath.undecided order by job limit $5::int for update skip locked
), gone as (
  delete from towpath.undecided where job = any(array(select job from free)) returning job
)
insert into towpath.running (job, worker, turn, started_at, graph, idx, lane, turnout, attempt, failures, crashes,
  decide, id)
select u.job, $2::bigint, $3::bigint, $1::bigint, j.graph, $4::int + row_number() over (order by u.job) - 1, j.lane,
  -j.priority::int, 0, 0, 0,
  case
    when n.role & 8 <> 0 then 4
    when s.reason = 0 then 2
    -- One that could have started, in a graph that fails fast.
    when s.reason = 3 and n.ok >= n.need and (n.eager or n.spoiled + n.untaken = 0) then 2
    else 1
  end,
  j.id
from gone u
join towpath.job j on j.key = u.job
join towpath.node n on n.job = u.job
left join towpath.stop s on s.graph = n.graph
returning job
