-- A number that changes when anything is written in this cluster.
-- Returns one row: revision (the next transaction id that will be given out, which only writers take). No locks.
select pg_snapshot_xmax(pg_current_snapshot())::text::bigint as revision
