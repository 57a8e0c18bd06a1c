-- Says what a running job is held for.
-- ?1 job key number.
-- Returns decide; one row or none.
-- Index: running (job).
select decide from running where job = ?1
