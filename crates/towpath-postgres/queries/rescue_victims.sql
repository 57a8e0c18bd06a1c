-- Locks the workers whose lease is over or which are known to be gone. One that beats or takes a turn just now is skipped.
-- $1 bigint now (us), $2 bigint asker (key), $3 uuid[] gone. Returns worker (key), by worker.
-- Reads all workers. Locks: the workers' rows; locked ones are skipped.
-- Index: worker (worker), lease (worker).
select w.worker from towpath.worker w
where w.worker <> $2::bigint and (
  w.incarnation = any($3::uuid[])
  or not exists (select 1 from towpath.lease l where l.worker = w.worker and l.until_at > $1::bigint))
order by w.worker
for update of w skip locked
