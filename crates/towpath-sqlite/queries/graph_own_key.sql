-- Reads what a graph that has ended keeps of its unique key.
-- ?1 graph key number.
-- Returns id, name, rules JSON or NULL; one row or none.
-- Index: graph (graph).
select id, name, rules from graph where graph = ?1 and "end" is not null
