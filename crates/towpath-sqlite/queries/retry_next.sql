-- Says when the next retry is to be carried on.
-- ?1 now µs.
-- Returns the least due after it, or NULL; one row.
-- Index: retry (due, graph).
select min(due) from retry where due > ?1
