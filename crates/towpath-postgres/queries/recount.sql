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
), ranked as materialized (
  select *, case verdict when 1 then ord::bigint when 2 then 4294967296 + ord end as rank from verdict
), total as materialized (
  select child, count(*) filter (where verdict = -1) as waits, count(*) filter (where verdict = 0) as ok,
    count(*) filter (where verdict = 1) as spoiled, count(*) filter (where verdict = 2) as untaken, min(rank) as rank,
    (array_agg(parent order by rank) filter (where rank is not null))[1] as parent
  from ranked group by child
), wrong as materialized (
  select n.job, t.*
  from total t join towpath.node n on n.job = t.child
  where n.phase < 2 and (n."left", n.ok, n.spoiled, n.untaken, n.cause_rank, n.cause_parent)
    is distinct from (t.waits, t.ok, t.spoiled, t.untaken, t.rank, t.parent)
    and not exists (select 1 from towpath.ended x where x.job = n.job)
), repaired as (
  update towpath.node n
  set "left" = w.waits, ok = w.ok, spoiled = w.spoiled, untaken = w.untaken, cause_rank = w.rank, cause_parent = w.parent
  from wrong w where n.job = w.job
)
select n.job, n.role, n.phase, n.need, coalesce(w.waits, n."left")::int as "left", coalesce(w.ok, n.ok)::int as ok,
  coalesce(w.untaken, n.untaken)::int as untaken, coalesce(w.spoiled, n.spoiled)::int as spoiled, n.eager,
  s.reason as stop, w.job is not null as repaired,
  exists (select 1 from towpath.undecided u where u.job = n.job)
    or exists (select 1 from towpath.running r where r.job = n.job) as held
from towpath.node n
left join wrong w on w.job = n.job
left join towpath.stop s on s.graph = n.graph
where n.graph = $1::bigint and n.phase < 2 and (n.phase = 1 or coalesce(w.waits, n."left") = 0 or n.eager or w.job is not null)
  and not exists (select 1 from towpath.ended x where x.job = n.job)
order by n.job
