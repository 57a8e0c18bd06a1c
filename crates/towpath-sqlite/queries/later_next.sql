-- Says when the next job falls due.
-- Returns one row: due in µs, or NULL.
-- Index: later (due, job).
select min(due) from later
