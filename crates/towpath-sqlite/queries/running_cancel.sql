-- Asks a running job to stop. The first who asked stays.
-- ?1 job key number, ?2 cause JSON.
-- Index: running (job).
update running set cancel = ?2 where job = ?1 and cancel is null
