-- Keeps a job that cannot run until code or input changes.
-- ?1 job key, ?2 lane, ?3 turnout, ?4 attempt, ?5 failures, ?6 crashes, ?7 build: numbers; ?8 reason text.
insert into blocked (job, lane, turnout, attempt, failures, crashes, build, reason)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
