-- Locks nodes and their children before they are counted.
-- $1 bigint[] jobs (keys). Returns nothing of use. Locks: the nodes, in the order of
-- their keys.
-- Index: edge (parent, ord), node (job).
select count(*) from (
  select job from towpath.node
  where job = any(array(
    select unnest($1::bigint[]) union select child from towpath.edge where parent = any($1::bigint[])))
  order by job
  for update
) locked
