-- Pauses a run; one that is paused keeps its pause.
-- ?1 job key number, ?2 who, as JSON text.
-- Index: run (job).
update run set paused = ifnull(paused, ?2) where job = ?1
