-- Looks at a locked graph that is to be retried, or is.
-- $1 bigint graph (key). Returns generation, mode (JSON) and since (us) of its retry, end (key of its job), id. No locks.
-- Index: graph (graph), retry (graph), node (graph, name).
select g.generation, r.mode, r.since, n.job as "end", g.id
from towpath.graph g
join towpath.node n on n.graph = g.graph and n.name = 'end'
left join towpath.retry r on r.graph = g.graph
where g.graph = $1::bigint
