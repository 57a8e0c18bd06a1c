-- Locks nodes and their children before they are counted.
-- $1 bigint[] jobs (keys). Returns nothing of use. Index: edge (parent), node (job). Locks: the nodes, in the order of
-- their keys.
select count(*) from (
  select job from towpath.node
  where job = any(array(
    select unnest($1::bigint[]) union select child from towpath.edge where parent = any($1::bigint[])))
  order by job
  for update
) locked
