-- Reads the schedules that are due.
-- $1 int limit. Returns now (us), least (us, when the first of the others is due, or null), revision, body (JSON), by when they
-- were due; one row with nulls if none is. No locks.
-- Index: schedule (next, name).
with clock as materialized (
  select towpath.clock() as now
)
select c.now, (select min(s.next) from towpath.schedule s where s.next > c.now) as least, d.revision, d.body
from clock c left join lateral (
  select s.revision, s.body from towpath.schedule s where s.next <= c.now order by s.next, s.name limit $1::int
) d on true
