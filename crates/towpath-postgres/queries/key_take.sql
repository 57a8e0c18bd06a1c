-- Gives a unique key to a job, or a graph.
-- $1 text kind (or name), $2 text key, $3 bigint job (key), $4 uuid id, $5 smallint hold, $6 bigint now (us),
-- $7 smallint scope (0 of jobs, 1 of graphs). Returns nothing.
-- Locks: the row (held already).
-- Index: unique_key (scope, kind, key).
update towpath.unique_key set job = $3::bigint, id = $4::uuid, hold = $5::smallint, at = $6::bigint, until_at = null
where scope = $7::smallint and kind = $1::text and key = $2::text
