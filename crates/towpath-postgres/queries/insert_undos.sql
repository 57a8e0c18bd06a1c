-- Keeps undos until their graphs have failed or were cancelled.
-- One array element per undo: $1 bigint[] graphs (keys), $2 int[] ranks, $3 bigint[] jobs (keys).
-- Returns nothing. Locks: the new rows.
insert into towpath.undo (graph, rank, job) select * from unnest($1::bigint[], $2::int[], $3::bigint[])
