-- Lifts a stop with this reason.
-- $1 bigint graph (key), $2 smallint reason. Returns nothing. Locks: the row.
-- Index: stop (graph).
delete from towpath.stop where graph = $1::bigint and reason = $2::smallint
