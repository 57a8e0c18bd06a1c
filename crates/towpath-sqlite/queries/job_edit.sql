-- Writes what is new about a job that nobody has; NULL leaves as it is.
-- ?1 key number, ?2 priority number, ?3 codec number, ?4 input bytes, ?5 due µs of a node that waits.
-- Index: job (key).
update job set
    priority = coalesce(?2, priority),
    codec = coalesce(?3, codec),
    input = coalesce(?4, input),
    due_at = coalesce(?5, due_at),
    delay_us = case when ?5 is null then delay_us end
where key = ?1
