-- What is stored under these ids.
-- $1 uuid[] ids. Returns id, kind, version, codec, input, run (id or null), in no order. No locks.
-- Index: job (id), lane (lane), run (job).
select j.id, l.kind, l.version, j.codec, j.input, u.id as run
from towpath.job j join towpath.lane l on l.lane = j.lane
left join towpath.run u on u.job = case when j.run then j.key end
where j.id = any($1::uuid[])
