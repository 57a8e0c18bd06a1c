-- Undos of graphs that nobody has decided about, so many of each.
-- $1 bigint[] graphs (keys), $2 int limit.
-- Returns graph, job, rank, node (the name of what it guards), stands (0 it was started, 1 it never was, 2 it is
-- committed), by graph, the highest rank first, then by job. No locks.
-- Index: undo (graph, rank DESC, job), graph (graph), node (job), ended (job).
select u.graph, u.job, u.rank, n.name as node,
  (case
    when u.job < g.committed then 2
    when n.started or x.started_at is not null or greatest(n.attempt, x.attempt) > n.undone then 0
    else 1
  end)::smallint as stands
from unnest($1::bigint[]) as w(graph)
join towpath.graph g on g.graph = w.graph
cross join lateral (
  select * from towpath.undo where graph = w.graph order by graph, rank desc, job limit $2::int
) u
join towpath.node i on i.job = u.job
join towpath.node n on n.job = i.guards
left join towpath.ended x on x.job = n.job
order by u.graph, u.rank desc, u.job
