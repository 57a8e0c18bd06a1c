-- Notes where a run was forked from.
-- ?1 job key number, ?2 where from (JSON).
-- Index: run (job).
update run set origin = ?2 where job = ?1
