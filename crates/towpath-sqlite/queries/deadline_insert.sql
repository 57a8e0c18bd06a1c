-- Keeps a job's deadline until the job has ended.
-- ?1 at µs, ?2 job key number.
insert into deadline (at, job) values (?1, ?2)
