-- Reads what is needed of a job to move it, by its id.
-- ?1 id bytes.
-- Returns what job_facts does; one row or none.
-- Index: job (id).
select key, id, lane, priority, deadline, graph, delay_us, due_at from job where id = ?1
