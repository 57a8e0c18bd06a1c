-- Writes edges.
-- One array element per edge: $1 bigint[] parents, $2 int[] places, $3 bigint[] children, $4 int[] verdicts,
-- $5 text[] labels. Returns nothing. Locks: the new rows.
insert into towpath.edge (parent, ord, child, verdicts, label)
select * from unnest($1::bigint[], $2::int[], $3::bigint[], $4::int[], $5::text[])
