-- Gives a job to a worker.
-- ?1 job key, ?2 worker key, ?3 turn, ?4 idx, ?5 decide, ?6 lane, ?7 turnout, ?8 attempt, ?9 failures, ?10 crashes:
-- numbers; ?11 started_at µs.
insert into running (
    job, worker, turn, idx, decide, lane, turnout, attempt, failures, crashes, started_at
) values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
