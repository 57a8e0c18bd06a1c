-- Reads what makes a job the same as another with its id.
-- ?1 id bytes.
-- Returns kind, version, codec, input, the id of its run or NULL; one row.
-- Index: job (id), lane (lane), run (job).
select l.kind, l.version, j.codec, j.input, r.id
from job j
join lane l on l.lane = j.lane
left join run r on r.job = case when j.run = 1 then j.key end
where j.id = ?1
