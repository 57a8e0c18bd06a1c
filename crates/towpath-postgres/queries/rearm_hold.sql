-- Lets a graph's `end` wait for nodes, unless it does.
-- $1 bigint graph (key), $2 bigint end (job's key), $3 bigint[] jobs (keys), $4 int verdicts. Returns nothing.
-- Locks: the graph and the end's node (held already).
-- Index: edge (parent, ord), graph (graph), node (job).
with missing as materialized (
  select h.job, row_number() over (order by h.job) - 1 as at
  from unnest($3::bigint[]) as h(job)
  where not exists (select 1 from towpath.edge e where e.parent = h.job and e.child = $2::bigint)
), added as (
  insert into towpath.edge (parent, child, ord, verdicts)
  select m.job, $2::bigint, g.edges + m.at, $4::int
  from missing m join towpath.graph g on g.graph = $1::bigint
), waits as (
  update towpath.node set "left" = "left" + (select count(*) from missing) where job = $2::bigint
)
update towpath.graph set edges = edges + (select count(*) from missing) where graph = $1::bigint
