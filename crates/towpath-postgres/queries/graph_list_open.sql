-- Graphs that have not ended, newest first.
-- $1 bigint only before this key (null for the start), $2 int limit, $3 text name (null for all).
-- Returns key, id, name, end, stop (reason), nodes, created_at, ended_at (us), generation, restart_of
-- (id), undo_rank, and counts if there is a rank, by key, descending. No locks.
-- Index: graph (graph), stop (graph).
select g.graph as key, g.id, g.name, g."end", s.reason as stop, g.nodes, g.created_at, g.ended_at, g.generation,
  g.restart_of, g.undo_rank, case when g.undo_rank is not null then g.counts end as counts
from towpath.graph g left join towpath.stop s on s.graph = g.graph
where g."end" is null and ($1::bigint is null or g.graph < $1::bigint) and s.reason is distinct from 2
  and ($3::text is null or g.name = $3::text)
order by g.graph desc
limit $2::int
