-- Lists undos of a graph that nobody has decided about.
-- ?1 graph key, ?2 most rows: numbers.
-- Returns job, rank, the name of what it guards, and how that stands (0 it was started, 1 it never was, 2 it is committed),
-- the highest rank first, then by job.
-- Index: undo (graph, rank desc, job), node (job), graph (graph), ended (job).
select
    u.job, u.rank, n.name,
    case
        when u.job < g.committed then 2
        when n.started = 1 or e.started_at is not null or max(n.attempt, ifnull(e.attempt, 0)) > n.undone then 0
        else 1
    end
from undo u
join graph g on g.graph = u.graph
join node w on w.job = u.job
join node n on n.job = w.guards
left join ended e on e.job = n.job
where u.graph = ?1
order by u.rank desc, u.job
limit ?2
