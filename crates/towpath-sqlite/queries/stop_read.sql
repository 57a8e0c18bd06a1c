-- Says what holds a graph back.
-- ?1 graph key number.
-- Returns reason; one row or none.
-- Index: stop (graph).
select reason from stop where graph = ?1
