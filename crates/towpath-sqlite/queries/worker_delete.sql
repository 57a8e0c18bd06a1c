-- Forgets a worker.
-- ?1 worker key number.
delete from worker where worker = ?1
