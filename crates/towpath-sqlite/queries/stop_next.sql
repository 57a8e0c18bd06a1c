-- Says when the next stopped graph is to be looked at.
-- ?1 now µs.
-- Returns the least due after it, or NULL; one row.
-- Index: stop (due, graph).
select min(due) from stop where due > ?1
