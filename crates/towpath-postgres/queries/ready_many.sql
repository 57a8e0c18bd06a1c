-- Whether there are so many ready jobs.
-- $1 int how many. Returns one row: many (bool). No locks.
-- Index: ready (lane, turnout, seq).
select count(*) >= $1::int as many from (select from towpath.ready limit $1::int) x
