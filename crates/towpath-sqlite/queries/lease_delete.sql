-- Forgets a worker's lease.
-- ?1 worker key number.
delete from lease where worker = ?1
