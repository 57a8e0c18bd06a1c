-- Writes how far a job is, in place of what was there.
-- ?1 job key number, ?2 attempt number, ?3 at µs, ?4 body JSON.
-- Index: progress (job).
insert or replace into progress (job, attempt, at, body) values (?1, ?2, ?3, ?4)
