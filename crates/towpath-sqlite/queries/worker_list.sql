-- Shows the workers.
-- Returns incarnation, name, queues, kinds, jobs with a handler, registered_at, until_at, wish (JSON), by worker.
-- Index: lease (worker), running (worker, turn, idx).
select
    w.incarnation, w.name, w.queues, w.kinds,
    (select count(*) from running r where r.worker = w.worker and r.decide = 0),
    w.registered_at, l.until_at, l.wish
from worker w
join lease l on l.worker = w.worker
order by w.worker
