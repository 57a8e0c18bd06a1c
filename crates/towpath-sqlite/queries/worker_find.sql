-- Finds a worker.
-- ?1 incarnation bytes.
-- Returns worker; one row or none.
-- Index: worker (incarnation).
select worker from worker where incarnation = ?1
