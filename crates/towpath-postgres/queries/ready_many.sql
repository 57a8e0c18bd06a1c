-- Whether there are so many ready jobs, those that are not due yet with them.
-- $1 int how many. Returns one row: many (bool). No locks.
-- Index: ready (lane, turnout, seq), later (due, job).
select (select count(*) from (select from towpath.ready limit $1::int) x)
  + (select count(*) from (select from towpath.later limit $1::int) x) >= $1::int as many
