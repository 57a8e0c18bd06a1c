-- Locks what a turn settles that adds to graphs, with its children, the graphs' ends and the parents that the new nodes name,
-- all at once, before any of it is judged.
-- $1 bigint[] jobs (keys); one array element per end or parent: $2 uuid[] graphs, $3 text[] names.
-- Returns nothing of use. Locks: the nodes, in the order of their keys.
-- Index: edge (parent, ord), graph (id), node (graph, name), node (job).
select count(*) from (
  select job from towpath.node
  where job = any(array(
    select unnest($1::bigint[]) union select child from towpath.edge where parent = any($1::bigint[])
    union select n.job
    from unnest($2::uuid[], $3::text[]) as w(id, name)
    join towpath.graph g on g.id = w.id
    join towpath.node n on n.graph = g.graph and n.name = w.name))
  order by job
  for update
) locked
