-- Reads what a job that has ended keeps of its unique key.
-- ?1 job key number.
-- Returns kind, rules JSON or NULL, attempt; one row or none.
-- Index: job (key), lane (lane), ended (job).
select l.kind, j.rules, e.attempt
from job j join lane l on l.lane = j.lane join ended e on e.job = j.key
where j.key = ?1
