-- Reads a job as it was enqueued, to write it anew with other fields.
-- ?1 key number.
-- Returns id bytes, kind, version, queue, priority, codec, input bytes, deadline µs or NULL, rules, tags, headers JSON or
-- NULL, due of a row of later µs or NULL; one row or none.
-- Index: job (key), lane (lane), later (job).
select
    j.id, l.kind, l.version, l.queue, j.priority, j.codec, j.input, j.deadline, j.rules, j.tags, j.headers, t.due
from job j join lane l on l.lane = j.lane
left join later t on t.job = j.key
where j.key = ?1
