-- Lists all workers with the end of their lease.
-- Returns worker, incarnation, until_at, by worker.
-- Index: lease (worker).
select w.worker, w.incarnation, l.until_at
from worker w
join lease l on l.worker = w.worker
order by w.worker
