-- Keeps a job until its time.
-- ?1 job key, ?2 due µs, ?3 lane, ?4 turnout, ?5 attempt, ?6 failures, ?7 crashes: numbers.
insert into later (job, due, lane, turnout, attempt, failures, crashes) values (?1, ?2, ?3, ?4, ?5, ?6, ?7)
