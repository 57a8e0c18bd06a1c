-- Opens a worker's turn or rescue: reads the clock and its row.
-- $1 uuid incarnation.
-- Returns no row for an unknown worker; else worker (key), turn, settled, now (us), until_at (us or null),
-- undecided (whether any is held), later (least due, us), deadline (least, us), paused (text[] queues, or null).
-- Locks: the worker's row, but not against a heartbeat.
-- Index: undecided (job), later (due, job), deadline (at, job), pause (queue), worker (incarnation), lease (worker).
select w.worker, w.turn, w.settled, towpath.clock() as now,
  (select l.until_at from towpath.lease l where l.worker = w.worker) as until_at,
  exists (select 1 from towpath.undecided) as undecided,
  nullif((select min(due) from towpath.later), 9223372036854775807) as later,
  (select min(at) from towpath.deadline) as deadline,
  (select array_agg(queue) from towpath.pause) as paused
from towpath.worker w where w.incarnation = $1::uuid
for no key update of w
