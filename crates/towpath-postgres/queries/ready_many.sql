-- Whether there are so many ready jobs, those that are not due yet with them.
-- $1 int how many. Returns one row: many (bool). No locks.
-- Reads them as they lie: no index gives less to read.
select (select count(*) from (select from towpath.ready where ctid > '(0,0)' limit $1::int) x)
  + (select count(*) from (select from towpath.later where ctid > '(0,0)' limit $1::int) x) >= $1::int as many
