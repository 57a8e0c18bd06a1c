-- Lifts the deadline of a job.
-- ?1 job key number.
-- Index: job (key).
update job set deadline = null where key = ?1
