-- Reads what is always needed of a job to move it.
-- ?1 key number.
-- Returns key, id, lane, priority, deadline, graph, delay_us, due_at; one row.
-- Index: job (key).
select key, id, lane, priority, deadline, graph, delay_us, due_at from job where key = ?1
