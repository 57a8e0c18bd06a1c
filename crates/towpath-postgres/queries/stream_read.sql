-- Reads lines of a stream of a run.
-- $1 text run (id), $2 text name, $3 bigint after which number, $4 int limit.
-- Returns number, codec, bytes, at (us), by number. No locks.
-- Index: run (id), shown (run, name, seq).
select s.seq, s.codec, s.bytes, s.at
from towpath.run r join towpath.shown s on s.run = r.job
where r.id = $1::text and s.name = $2::text and s.seq > $3::bigint
order by s.seq
limit $4::int
