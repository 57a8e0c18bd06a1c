-- Lists the workers that hold a lease, or held one.
-- Returns incarnation, machine, boot, pid_namespace, pid, started, until_at, by worker.
-- Index: lease (worker).
select w.incarnation, w.machine, w.boot, w.pid_namespace, w.pid, w.started, l.until_at
from worker w
join lease l on l.worker = w.worker
order by w.worker
