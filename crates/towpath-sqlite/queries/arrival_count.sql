-- Counts what has arrived for a run.
-- ?1 run id text.
-- Returns one row: the number.
-- Index: arrival (run, seq).
select count(*) from arrival where run = ?1
