-- Takes a job out of the head that was put back there.
-- ?1 job key number.
-- Returns attempt, failures, crashes; one row or none.
-- Index: ready (job).
delete from ready where job = ?1 and seq <> job returning attempt, failures, crashes
