-- The jobs of a kind that have not ended, as an application's transaction sees them. For tests: it goes through all jobs.
-- $1 text kind. Sent on the application's connection, so that it has one text, and answers one.
-- Returns a JSON list of lists of codec and input (hexadecimal), newest first, at most 1,000. No locks.
-- Index: job (key), lane (queue, kind, version), lane (lane), ended (job).
select coalesce(json_agg(json_build_array(found.codec, encode(found.input, 'hex'))), '[]')::text
from (
  select j.codec, j.input
  from towpath.job j
  join towpath.lane l on l.lane = j.lane
  where l.kind = $1::text and not exists (select from towpath.ended e where e.job = j.key)
  order by j.key desc
  limit 1000
) found
