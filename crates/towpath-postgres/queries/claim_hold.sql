-- The rest of every claim: gives what was `found` to the worker. Behind `claim` or `claim_freed`, whose parameters these are.
-- Returns what `held` returns first, then turnout, seq, queue's place, role, the lanes that have more of
-- what was freed (int[] or null), and what `held` returns of a run; in no order. If nothing is found, one row without a job.
-- Locks: the new rows.
-- Index: run (job).
held as (
  insert into towpath.running (job, worker, turn, started_at, graph, idx, lane, turnout, attempt, failures, crashes,
    decide, id)
  select job, $2::bigint, $3::bigint, $1::bigint, graph, idx, lane, turnout,
    attempt + case when reason is null then 1 else 0 end, failures, crashes,
    case when reason is null then 0 else 2 end, id
  from found
)
select f.job, f.idx, (case when f.reason is null then 0 else 2 end)::smallint as decide,
  f.attempt + case when f.reason is null then 1 else 0 end as attempt, f.failures, f.crashes, f.id, f.lane, f.rules,
  f.deadline, f.of_graph as graph, f.name as node, f.reason as stop, f.codec, f.input, f.headers, f.enqueued_at,
  f.turnout, f.seq, f.place, f.role, (select array_agg(lane) from rest) as rest,
  u.id as run, u.chapter, u.entries, u.paused is not null as paused
from (select) one
left join found f on true
left join towpath.run u on u.job = case when f.run then f.job end
