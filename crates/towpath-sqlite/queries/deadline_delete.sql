-- Drops a deadline.
-- ?1 at µs, ?2 job key number.
-- Index: deadline (at, job).
delete from deadline where at = ?1 and job = ?2
