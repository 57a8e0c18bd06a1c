-- Lists jobs that other builds could not run.
-- ?1 build number.
-- Returns job, by job. Reads all of the table, which is small.
select job from blocked where build <> ?1 order by job
