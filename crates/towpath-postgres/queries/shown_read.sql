-- Reads what a run shows under a name.
-- $1 text run (id), $2 text name. Returns codec, bytes, at (us); one row or none. No locks.
-- Index: run (id), shown (run, name, seq).
select s.codec, s.bytes, s.at
from towpath.run r join towpath.shown s on s.run = r.job
where r.id = $1::text and s.name = $2::text and s.seq = 0
