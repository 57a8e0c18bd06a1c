-- Counts open graphs again, the oldest first behind one.
-- $1 bigint the key behind which to look, $2 bigint how many nodes and edges, $3 int most graphs.
-- Returns graph (key), id, is_wrong (whether a node that waits has other counters than its edges say, or does not stand where
-- they put it; not of one that is being retried or deleted), by graph. No locks.
-- Index: graph (graph), stop (graph), node (graph, name), edge (parent, ord), node (job), ended (job), undecided (job),
-- running (job).
with behind as materialized (
  select graph, id, nodes + edges as size from towpath.graph where "end" is null and graph > $1::bigint
  order by graph limit $3::int
), part as materialized (
  select b.graph, b.id, coalesce(s.reason in (1, 2), false) as held
  from (select graph, id, sum(size) over (order by graph) - size as before from behind) b
  left join towpath.stop s on s.graph = b.graph
  where b.before < $2::bigint
), verdict as materialized (
  select p.graph, e.child,
    case
      when x.job is null then -1
      when e.label is not null and x.state = 0 and not coalesce(x.branches, '[]')::jsonb ? e.label then 2
      else (e.verdicts >> (2 * x.state)) & 3
    end as verdict
  from part p
  join towpath.node n on n.graph = p.graph
  join towpath.edge e on e.parent = n.job
  left join towpath.ended x on x.job = n.job
  where not p.held
), total as materialized (
  select graph, child, count(*) filter (where verdict = -1) as waits, count(*) filter (where verdict = 0) as ok,
    count(*) filter (where verdict = 2) as untaken, count(*) filter (where verdict = 1) as spoiled
  from verdict group by graph, child
), wrong as materialized (
  select distinct t.graph
  from total t join towpath.node n on n.job = t.child
  where n.phase < 2 and n.role & 16 = 0 and not exists (select 1 from towpath.ended x where x.job = n.job)
    and (
      (n."left", n.ok, n.untaken, n.spoiled) <> (t.waits, t.ok, t.untaken, t.spoiled)
      or n.phase = 0 and (n."left" = 0 or n.eager and n.ok >= n.need)
      or n.phase = 1 and not exists (select 1 from towpath.undecided u where u.job = n.job)
        and not exists (select 1 from towpath.running r where r.job = n.job)
    )
)
select p.graph, p.id, exists (select 1 from wrong w where w.graph = p.graph) as is_wrong from part p order by p.graph
