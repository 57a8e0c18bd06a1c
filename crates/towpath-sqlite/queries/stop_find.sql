-- Finds a graph that is stopped for a reason.
-- ?1 reason number.
-- Returns graph; the first, or none. Reads all of the table, which is small.
select graph from stop where reason = ?1 order by graph limit 1
