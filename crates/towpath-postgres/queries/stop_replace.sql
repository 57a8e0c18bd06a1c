-- Holds a graph back, whatever held it before.
-- $1 bigint graph (key), $2 smallint reason, $3 bigint at (us), $4 text actor, $5 text why. Returns nothing.
-- Locks: the row.
-- Index: stop (graph).
insert into towpath.stop (graph, reason, at, actor, why)
values ($1::bigint, $2::smallint, $3::bigint, $4::text, $5::text)
on conflict (graph) do update set reason = excluded.reason, at = excluded.at, actor = excluded.actor, why = excluded.why,
  due = null
