-- Lifts a stop with this reason.
-- $1 bigint graph (key), $2 smallint reason. Returns nothing. Index: stop (graph). Locks: the row.
delete from towpath.stop where graph = $1::bigint and reason = $2::smallint
