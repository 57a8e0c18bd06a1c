-- Forgets a worker.
-- ?1 worker key number.
-- Index: worker (worker).
delete from worker where worker = ?1
