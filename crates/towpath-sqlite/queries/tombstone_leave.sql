-- Writes down the id of an ended run that is to stay taken for longer than the run is there.
-- ?1 job key number, ?2 now µs.
-- Changes no row if its time is over. One of an earlier run of that id goes.
-- Index: run (job), job (key), ended (job), tombstone (run).
insert or replace into tombstone (run, job, lane, state, ended_at, until_at)
select r.id, j.id, j.lane, e.state, e.ended_at, e.ended_at + r.keep_id_us
from run r
join job j on j.key = r.job
join ended e on e.job = r.job
where r.job = ?1 and e.ended_at + r.keep_id_us > ?2
