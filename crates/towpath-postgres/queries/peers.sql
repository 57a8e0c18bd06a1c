-- The workers that hold a lease or held one, by their keys.
-- Returns incarnation, machine, boot, pid_namespace, pid, started, until_at (us). No locks.
-- Index: worker (worker), lease (worker).
select w.incarnation, w.machine, w.boot, w.pid_namespace, w.pid, w.started, l.until_at
from towpath.worker w join towpath.lease l on l.worker = w.worker
order by w.worker
