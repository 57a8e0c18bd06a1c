-- Says where a job stands.
-- ?1 key number.
-- Returns the number of a state; one row. Index: primary keys; ready_moved.
select state from job_line where key = ?1
