-- Writes graphs.
-- $1 bigint created_at (us); one array element per graph: $2 bigint[] keys, $3 uuid[] ids, $4 text[] names,
-- $5 text[] rules, $6 smallint[] codecs, $7 bytea[] inputs, $8 int[] nodes, $9 int[] edges,
-- $10 uuid[] the graphs that they are restarts of.
-- Returns nothing. Raises a unique violation when another has written the id meanwhile. Locks: the new rows.
insert into towpath.graph (graph, id, name, rules, codec, input, nodes, edges, restart_of, created_at)
select i.*, $1::bigint
from unnest($2::bigint[], $3::uuid[], $4::text[], $5::text[], $6::smallint[], $7::bytea[], $8::int[], $9::int[],
  $10::uuid[]) as i
