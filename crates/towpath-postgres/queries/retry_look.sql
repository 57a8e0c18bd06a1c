-- Looks at a locked graph that is to be retried, or is.
-- $1 bigint graph (key). Returns generation, mode (JSON) and since (us) of its retry, end (key of its job), id,
-- is_undoing (whether undos run, or are to come). No locks.
-- Index: graph (graph), retry (graph), node (graph, name), ended (job).
select g.generation, r.mode, r.since, n.job as "end", g.id,
  g.undoing is not null and exists (
    select 1 from towpath.node u
    where u.graph = g.graph and u.guards is not null and not exists (select 1 from towpath.ended x where x.job = u.job)
  ) as is_undoing
from towpath.graph g
join towpath.node n on n.graph = g.graph and n.name = 'end'
left join towpath.retry r on r.graph = g.graph
where g.graph = $1::bigint
