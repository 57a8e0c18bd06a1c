-- Deletes how far a job was.
-- ?1 job key number.
-- Index: progress (job).
delete from progress where job = ?1
