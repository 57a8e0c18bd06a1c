-- What is stored under these ids.
-- $1 uuid[] ids. Returns id, kind, version, codec, input, in no order. Index: job (id). No locks.
select j.id, l.kind, l.version, j.codec, j.input
from towpath.job j join towpath.lane l on l.lane = j.lane
where j.id = any($1::uuid[])
