-- Ends graphs.
-- $1 bigint now (us); one array element per graph: $2 bigint[] graphs (keys), $3 smallint[] ends, $4 text[] counts,
-- $5 bigint[] prune_at (us). Returns id of each, in no order. Locks: those rows.
-- Index: graph (graph).
update towpath.graph g set "end" = i.state, ended_at = $1::bigint, counts = i.counts, prune_at = i.prune_at
from unnest($2::bigint[], $3::smallint[], $4::text[], $5::bigint[]) as i(graph, state, counts, prune_at)
where g.graph = i.graph
returning g.id
