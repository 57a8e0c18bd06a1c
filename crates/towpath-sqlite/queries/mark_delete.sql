-- Deletes what a job keeps across its attempts.
-- ?1 job key number.
-- Index: mark (job, name).
delete from mark where job = ?1
