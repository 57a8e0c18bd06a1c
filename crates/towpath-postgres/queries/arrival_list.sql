-- Reads a run's inbox.
-- $1 text run (id), $2 bigint the last seq seen, $3 int limit. Returns seq, name, codec, bytes, at (us), by seq.
-- No locks.
-- Index: arrival (run, seq).
select seq, name, codec, bytes, at from towpath.arrival
where run = $1::text and seq > $2::bigint order by seq limit $3::int
