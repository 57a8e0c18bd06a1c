-- Says whether any graph is held back.
-- Returns any; one row.
-- Index: stop (graph).
select exists (select 1 from stop) as "any"
