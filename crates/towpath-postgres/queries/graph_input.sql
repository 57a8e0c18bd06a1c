-- What a graph was given.
-- $1 uuid id.
-- Returns codec, input; one row, or none for a graph that is unknown or being pruned. No locks.
-- Index: graph (id), stop (graph).
select g.codec, g.input
from towpath.graph g left join towpath.stop s on s.graph = g.graph
where g.id = $1::uuid and s.reason is distinct from 2
