-- Adds the verdicts of ended parents to the counters of their children, all edges of a child at once.
-- $1 bigint[] parents (keys; one that has not ended counts for nothing), $2 int: only edges from this place on,
-- $3 boolean: only of parents that have ended in this transaction.
-- Returns the children that are not released and have no parent left or are eager: job, role, phase, need, left, ok,
-- untaken, spoiled, eager, stop (reason or null), sure, by job. `phase` is what it was; a child of which all that it needs is
-- ok, and whose graph nobody stops, is surely free: its row says so already.
-- Locks: the children (held already).
-- Index: ended (job), edge (parent, ord), node (job), stop (graph).
with total as materialized (
  select child, count(*) as edges, count(*) filter (where verdict = 0) as ok,
    count(*) filter (where verdict = 1) as spoiled, count(*) filter (where verdict = 2) as untaken,
    min(array[case verdict when 1 then ord::bigint else 4294967296 + ord end, parent]) filter (where verdict in (1, 2))
      as cause
  from (
    select e.child, e.parent, e.ord,
      case
        when e.label is not null and x.state = 0 and not coalesce(x.branches, '[]')::jsonb ? e.label then 2
        else (e.verdicts >> (2 * x.state)) & 3
      end as verdict
    from towpath.ended x join towpath.edge e on e.parent = x.job
    where x.job = any($1::bigint[]) and e.ord >= $2::int
      and (not $3::boolean or x.xmin = pg_current_xact_id()::xid)
    offset 0
  ) judged
  group by child
), counted as (
  -- The rows are locked, so that where they lie is where they stay.
  update towpath.node n
  set "left" = o."left" - t.edges, ok = o.ok + t.ok, spoiled = o.spoiled + t.spoiled, untaken = o.untaken + t.untaken,
    cause_rank = least(o.cause_rank, t.cause[1]),
    cause_parent = case when t.cause is null or o.cause_rank <= t.cause[1] then o.cause_parent else t.cause[2] end,
    phase = case
      when o.phase = 0 and o."left" = t.edges and o.ok + t.ok >= o.need
        and o.spoiled + t.spoiled + o.untaken + t.untaken = 0 and s.reason is null then 2
      else o.phase
    end
  from total t
  join towpath.node o on o.job = t.child
  left join towpath.stop s on s.graph = o.graph
  where n.ctid = o.ctid
  returning n.job, n.role, o.phase, n.need, n."left", n.ok, n.untaken, n.spoiled, n.eager, s.reason as stop,
    n.phase <> o.phase as sure
)
select * from counted where phase = 0 and ("left" = 0 or eager) order by job
