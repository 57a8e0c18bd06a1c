-- Changes schedules and enqueues what they mint, by the schema's function.
-- $1 text items (JSON). Returns answers (JSON text); one row. Locks: the rows of the schedules, then the new rows.
-- Index: schedule (name).
select towpath.write_schedules($1::text::jsonb)::text as answers
