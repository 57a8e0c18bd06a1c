-- Lists the edges from a parent.
-- ?1 parent job key, ?2 the first place: numbers.
-- Returns ord, child, verdicts, label, by ord.
-- Index: edge (parent, ord).
select ord, child, verdicts, label from edge where parent = ?1 and ord >= ?2 order by ord
