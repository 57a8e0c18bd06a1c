-- Lifts the pause of a run.
-- ?1 run id text.
-- Returns the job's key, if it was paused; one row or none.
-- Index: run (id).
update run set paused = null where id = ?1 and paused is not null returning job
