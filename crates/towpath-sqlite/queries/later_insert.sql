-- Keeps a job until its time, and a parked run until a signal.
-- ?1 job key, ?2 due µs, ?3 lane, ?4 turnout, ?5 attempt, ?6 failures, ?7 crashes, ?8 parked: numbers.
insert into later (job, due, lane, turnout, attempt, failures, crashes, parked)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
