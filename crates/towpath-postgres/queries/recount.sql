-- Counts the parents of a graph's unreleased nodes again, from the edges, and repairs what differs.
-- $1 bigint graph (key).
-- Returns every unreleased node that is undecided, has no parent left, is eager, or was repaired, and is not over: job, role, phase, need, left, ok,
-- untaken, spoiled, eager, stop (reason or null), repaired, held (for a decision), by job.
-- Locks: the nodes (held already).
-- Index: node (graph, name), ended (job), edge (parent, ord), node (job), stop (graph), undecided (job),
-- running (job).
with verdict as materialized (
  select e.child, e.parent, e.ord,
    case
      when x.job is null then -1
      when e.label is not null and x.state = 0 and not coalesce(x.branches, '[]')::jsonb ? e.label then 2
      else (e.verdicts >> (2 * x.state)) & 3
    end as verdict
  from towpath.node p
  join towpath.edge e on e.parent = p.job
  left join towpath.ended x on x.job = p.job
  where p.graph = $1::bigint
), total as materialized (
  select child, count(*) filter (where verdict = -1) as waits, count(*) filter (where verdict = 0) as ok,
    count(*) filter (where verdict = 1) as spoiled, count(*) filter (where verdict = 2) as untaken,
    min(array[case verdict when 1 then ord::bigint else 4294967296 + ord end, parent]) filter (where verdict in (1, 2))
      as cause
  from verdict group by child
), wrong as materialized (
  select n.job, t.*
  from total t join towpath.node n on n.job = t.child
  where n.phase < 2 and (n."left", n.ok, n.spoiled, n.untaken, n.cause_rank, n.cause_parent)
    is distinct from (t.waits, t.ok, t.spoiled, t.untaken, t.cause[1], t.cause[2])
    and not exists (select 1 from towpath.ended x where x.job = n.job)
), repaired as (
  update towpath.node n
  set "left" = w.waits, ok = w.ok, spoiled = w.spoiled, untaken = w.untaken, cause_rank = w.cause[1], cause_parent = w.cause[2]
  from wrong w where n.job = w.job
), looked_at as (
  -- Not one join of all with what is wrong: those would be compared row by row, however many there are.
  select n.job, n.graph, n.role, n.phase, n.need, w.waits as "left", w.ok, w.untaken, w.spoiled, n.eager, true as repaired
  from wrong w join towpath.node n on n.job = w.job
  union all
  select n.job, n.graph, n.role, n.phase, n.need, n."left", n.ok, n.untaken, n.spoiled, n.eager, false
  from towpath.node n
  where n.graph = $1::bigint and n.phase < 2 and (n.phase = 1 or n."left" = 0 or n.eager)
    and n.job not in (select job from wrong)
    and not exists (select 1 from towpath.ended x where x.job = n.job)
)
select n.job, n.role, n.phase, n.need, n."left"::int as "left", n.ok::int as ok, n.untaken::int as untaken,
  n.spoiled::int as spoiled, n.eager, s.reason as stop, n.repaired,
  exists (select 1 from towpath.undecided u where u.job = n.job)
    or exists (select 1 from towpath.running r where r.job = n.job) as held
from looked_at n
left join towpath.stop s on s.graph = n.graph
order by n.job
