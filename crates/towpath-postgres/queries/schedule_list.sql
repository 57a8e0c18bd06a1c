-- Lists schedules by name.
-- $1 text after, $2 int limit. Returns now (us), revision, body (JSON), by name. No locks.
-- Index: schedule (name).
select towpath.clock() as now, s.revision, s.body from towpath.schedule s where s.name > $1::text order by s.name limit $2::int
