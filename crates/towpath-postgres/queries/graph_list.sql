-- Graphs, newest first.
-- $1 bigint only before this key (null for the start), $2 int limit, $3 uuid id (null for all), $4 smallint end (null for
-- all).
-- Returns key, id, name, end, stop (reason), nodes, created_at, ended_at (us), generation, restart_of (id), codec, input
-- (of one only), and of a stop: at (us), actor, why; undo_rank, and counts if there is a rank; of one only retry_due (us) and
-- rules; by key, descending. No locks.
-- Index: graph (graph), stop (graph), retry (graph).
select g.graph as key, g.id, g.name, g."end", s.reason as stop, g.nodes, g.created_at, g.ended_at,
  g.generation, g.restart_of,
  case when $3::uuid is not null then g.codec end as codec, case when $3::uuid is not null then g.input end as input,
  s.at, s.actor, s.why, g.undo_rank, case when g.undo_rank is not null then g.counts end as counts,
  case when $3::uuid is not null then (select r.due from towpath.retry r where r.graph = g.graph) end as retry_due,
  case when $3::uuid is not null then g.rules end as rules
from towpath.graph g left join towpath.stop s on s.graph = g.graph
where ($1::bigint is null or g.graph < $1::bigint) and s.reason is distinct from 2
  and ($3::uuid is null or g.id = $3::uuid)
  and ($4::smallint is null or g."end" = $4::smallint)
order by g.graph desc
limit $2::int
