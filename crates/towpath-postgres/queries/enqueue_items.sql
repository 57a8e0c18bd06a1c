-- Writes jobs and graphs of which some have unique keys, by the schema's function.
-- $1 text items (JSON), $2 bigint now (us), null to read the clock. Returns answers (JSON text); one row. Locks: the keys, in the order of that index, then the new rows.
-- Index: unique_key (scope, kind, key), unique_key (job).
select towpath.enqueue_items($1::text::jsonb, $2::bigint)::text as answers
