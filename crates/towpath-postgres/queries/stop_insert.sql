-- Holds a graph back; a stop that is there stays, but a cancel takes the place of a failure and of a retry.
-- $1 bigint graph (key), $2 smallint reason, $3 bigint at (us), $4 text actor, $5 text why,
-- $6 bigint when to look (us) or null. Returns graph if it is so now.
-- Locks: the row.
-- Index: stop (graph).
insert into towpath.stop (graph, reason, at, actor, why, due)
values ($1::bigint, $2::smallint, $3::bigint, $4::text, $5::text, $6::bigint)
on conflict (graph) do update set reason = excluded.reason, at = excluded.at, actor = excluded.actor, why = excluded.why,
  due = excluded.due
where stop.reason in (1, 3) and excluded.reason = 0
returning graph
