-- Says where a job stands.
-- ?1 key number.
-- Returns the number of a state; one row.
-- Index: job (key), lane (lane), ended (job), running (job), blocked (job), later (job), ready (lane, turnout, seq),
-- ready (job).
select state from job_line where key = ?1
