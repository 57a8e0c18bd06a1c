-- Puts a job into the head.
-- ?1 lane, ?2 turnout, ?3 seq, ?4 job key, ?5 attempt, ?6 failures, ?7 crashes: numbers.
insert into ready (lane, turnout, seq, job, attempt, failures, crashes) values (?1, ?2, ?3, ?4, ?5, ?6, ?7)
