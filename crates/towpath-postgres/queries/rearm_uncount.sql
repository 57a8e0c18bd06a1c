-- Takes the verdicts of ended parents back from the counters of their children, all edges of a child at once. The edge to
-- blame stays until a recount.
-- $1 bigint[] parents (keys). Returns nothing. Locks: the children (held already).
-- Index: ended (job), edge (parent, ord), node (job).
with verdict as materialized (
  select e.child,
    case
      when e.label is not null and x.state = 0 and not coalesce(x.branches, '[]')::jsonb ? e.label then 2
      else (e.verdicts >> (2 * x.state)) & 3
    end as verdict
  from towpath.ended x join towpath.edge e on e.parent = x.job
  where x.job = any($1::bigint[])
), total as materialized (
  select child, count(*) as edges, count(*) filter (where verdict = 0) as ok,
    count(*) filter (where verdict = 1) as spoiled, count(*) filter (where verdict = 2) as untaken
  from verdict group by child
)
update towpath.node n
set "left" = n."left" + t.edges, ok = greatest(n.ok - t.ok, 0), spoiled = greatest(n.spoiled - t.spoiled, 0),
  untaken = greatest(n.untaken - t.untaken, 0)
from total t
where n.job = t.child
