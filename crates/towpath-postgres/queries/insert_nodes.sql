-- Writes nodes whose parents have all yet to end.
-- One array element per node: $1 bigint[] jobs, $2 bigint[] graphs, $3 text[] names, $4 smallint[] roles,
-- $5 int[] needs, $6 boolean[] eager, $7 int[] parents left, $8 int[] depths, $9 bigint[] what they undo (or null).
-- Roots are released.
-- Returns nothing. Locks: the new rows.
insert into towpath.node (job, graph, name, role, need, eager, "left", depth, guards, phase)
select i.*, case when i.parents = 0 then 2 else 0 end
from unnest($1::bigint[], $2::bigint[], $3::text[], $4::smallint[], $5::int[], $6::boolean[], $7::int[],
  $8::int[], $9::bigint[]) as i(job, graph, name, role, need, eager, parents, depth, guards)
