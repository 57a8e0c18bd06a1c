-- Workers, oldest first.
-- Returns incarnation, name, queues (JSON), kinds (JSON), running (how many), registered_at, until_at (us), wish (JSON). No locks.
-- Index: worker (worker), lease (worker), running (worker, turn).
select w.incarnation, w.name, w.queues, w.kinds,
  (select count(*) from towpath.running r where r.worker = w.worker and r.decide = 0) as running,
  w.registered_at, l.until_at, l.wish
from towpath.worker w join towpath.lease l on l.worker = w.worker
order by w.worker
