-- Reads what makes a job the same as another with its id.
-- ?1 id bytes.
-- Returns kind, version, codec, input; one row. Index: job_id.
select l.kind, l.version, j.codec, j.input
from job j
join lane l on l.lane = j.lane
where j.id = ?1
