-- Adds the verdicts of ended parents to the counters of their children, all edges of a child at once.
-- $1 bigint[] parents (keys; one that has not ended counts for nothing), $2 int: only edges from this place on,
-- $3 boolean: only of parents that have ended in this transaction.
-- Returns the children that are not released and have no parent left or are eager: job, role, phase, need, left, ok,
-- untaken, spoiled, eager, stop (reason or null), sure, by job. `phase` is what it was; a child of which all that it needs is
-- ok, and whose graph nobody stops, is surely free: its row says so already.
-- Locks: the children (held already).
-- Index: ended (job), edge (parent, ord), node (job), stop (graph).
with verdict as materialized (
  select e.child, e.parent, e.ord,
    case
      when e.label is not null and x.state = 0 and not coalesce(x.branches, '[]')::jsonb ? e.label then 2
      else (e.verdicts >> (2 * x.state)) & 3
    end as verdict
  from towpath.ended x join towpath.edge e on e.parent = x.job
  where x.job = any($1::bigint[]) and e.ord >= $2::int
    and (not $3::boolean or x.xmin = pg_current_xact_id()::xid)
), ranked as materialized (
  select *, case verdict when 1 then ord::bigint when 2 then 4294967296 + ord end as rank from verdict
), total as materialized (
  select child, count(*) as edges, count(*) filter (where verdict = 0) as ok,
    count(*) filter (where verdict = 1) as spoiled, count(*) filter (where verdict = 2) as untaken, min(rank) as rank,
    (array_agg(parent order by rank) filter (where rank is not null))[1] as parent
  from ranked group by child
), counted as (
  update towpath.node n
  set "left" = n."left" - t.edges, ok = n.ok + t.ok, spoiled = n.spoiled + t.spoiled, untaken = n.untaken + t.untaken,
    cause_rank = least(n.cause_rank, t.rank),
    cause_parent = case when n.cause_rank <= t.rank or t.rank is null then n.cause_parent else t.parent end,
    phase = case
      when n.phase = 0 and n."left" = t.edges and n.ok + t.ok >= n.need
        and n.spoiled + t.spoiled + n.untaken + t.untaken = 0
        and not exists (select 1 from towpath.stop s where s.graph = n.graph) then 2
      else n.phase
    end
  from total t join towpath.node o on o.job = t.child
  where n.job = o.job
  returning n.job, n.graph, n.role, o.phase, n.need, n."left", n.ok, n.untaken, n.spoiled, n.eager,
    n.phase <> o.phase as sure
)
select c.job, c.role, c.phase, c.need, c."left", c.ok, c.untaken, c.spoiled, c.eager, s.reason as stop, c.sure
from counted c left join towpath.stop s on s.graph = c.graph
where c.phase = 0 and (c."left" = 0 or c.eager)
order by c.job
