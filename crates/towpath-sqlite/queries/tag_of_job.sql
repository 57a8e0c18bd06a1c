-- The tags of a job.
-- ?1 job key number.
-- Returns tag, by its text.
-- Index: tag (job, tag).
select tag from tag where job = ?1 order by tag
