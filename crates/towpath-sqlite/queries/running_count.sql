-- Changes the counters of a run that stays with its worker.
-- ?1 integer job, ?2 integer attempt, ?3 integer failures, ?4 integer crashes.
-- Returns nothing.
-- Index: running (job).
update running set attempt = ?2, failures = ?3, crashes = ?4 where job = ?1
