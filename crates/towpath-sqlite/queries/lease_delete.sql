-- Forgets a worker's lease.
-- ?1 worker key number.
-- Index: lease (worker).
delete from lease where worker = ?1
