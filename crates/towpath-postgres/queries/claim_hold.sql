-- The rest of every claim: gives what was `picked` to the worker. Behind `claim` or `claim_freed`, whose parameters these are.
-- Returns what `held` returns first, then turnout, seq, queue's place, role, the lanes that have more of
-- what was freed (int[] or null), and what `held` returns of a run; in no order. If nothing is picked, one row without a job.
-- Locks: the new rows.
-- Index: job (key), stop (graph), graph (graph), node (job), run (job).
found as materialized (
  select p.*, case when n.role & (case s.reason when 3 then 80 else 16 end) <> 0 then null else s.reason end as reason, j.id, j.rules, j.deadline, j.graph, j.codec, j.input, j.headers, j.enqueued_at, j.run
  from picked p
  join towpath.job j on j.key = p.job
  left join towpath.stop s on s.graph = j.graph
    -- A run that has begun obeys a cancel, or a failure beside it, with its handler.
    and (s.reason not in (0, 3) or not exists (
      select 1 from towpath.run u where u.job = j.key and u.entries > 0))
  left join towpath.node n on n.job = case when s.reason in (0, 3) then p.job end
), held as (
  insert into towpath.running (job, worker, turn, started_at, graph, idx, lane, turnout, attempt, failures, crashes,
    decide, id)
  select job, $2::bigint, $3::bigint, $1::bigint, graph, idx, lane, turnout,
    attempt + case when reason is null then 1 else 0 end, failures, crashes,
    case when reason is null then 0 else 2 end, id
  from found
)
select f.job, f.idx, (case when f.reason is null then 0 else 2 end)::smallint as decide,
  f.attempt + case when f.reason is null then 1 else 0 end as attempt, f.failures, f.crashes, f.id, f.lane, f.rules,
  f.deadline, g.id as graph, n.name as node, f.reason as stop, f.codec, f.input, f.headers, f.enqueued_at,
  f.turnout, f.seq, f.place, n.role, (select array_agg(lane) from rest) as rest,
  u.id as run, u.chapter, u.entries, u.paused is not null as paused
from (select) one
left join found f on true
left join towpath.graph g on g.graph = f.graph
left join towpath.node n on n.job = case when f.graph is not null then f.job end
left join towpath.run u on u.job = case when f.run then f.job end
