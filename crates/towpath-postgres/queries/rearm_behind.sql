-- Lets nodes that are re-armed wait for others, unless they do. A parent that has ended is counted.
-- $1 bigint graph (key), $2 bigint[] parents, $3 bigint[] children (keys), $4 int[] verdicts. Returns nothing.
-- Locks: the graph and the children (held already).
-- Index: edge (parent, ord), graph (graph), ended (job), node (job).
with missing as materialized (
  select w.parent, w.child, w.verdicts, row_number() over (order by w.place) - 1 as at
  from unnest($2::bigint[], $3::bigint[], $4::int[]) with ordinality as w(parent, child, verdicts, place)
  where not exists (select 1 from towpath.edge e where e.parent = w.parent and e.child = w.child)
), added as (
  insert into towpath.edge (parent, child, ord, verdicts)
  select m.parent, m.child, g.edges + m.at, m.verdicts
  from missing m join towpath.graph g on g.graph = $1::bigint
), counted as (
  select m.child, case when x.job is null then -1 else (m.verdicts >> (2 * x.state)) & 3 end as verdict
  from missing m left join towpath.ended x on x.job = m.parent
), total as (
  select child, count(*) filter (where verdict = -1) as waits, count(*) filter (where verdict = 0) as ok,
    count(*) filter (where verdict = 1) as spoiled, count(*) filter (where verdict = 2) as untaken
  from counted group by child
), waits as (
  update towpath.node n
  set "left" = n."left" + t.waits, ok = n.ok + t.ok, spoiled = n.spoiled + t.spoiled, untaken = n.untaken + t.untaken
  from total t
  where n.job = t.child
)
update towpath.graph set edges = edges + (select count(*) from missing) where graph = $1::bigint
