-- Holds graphs back because nodes of theirs have failed; a stop that is there stays.
-- $1 bigint at (us), $2 bigint[] jobs (keys), $3 text actor, $4 text why. Returns graph (key) of each new stop.
-- Locks: the rows, in the order of the graphs.
-- Index: job (key), stop (graph).
insert into towpath.stop (graph, reason, at, actor, why, due)
select distinct j.graph, 3, $1::bigint, $3::text, $4::text, $1::bigint
from towpath.job j
where j.key = any($2::bigint[]) and j.graph is not null
order by j.graph
on conflict (graph) do nothing
returning graph
