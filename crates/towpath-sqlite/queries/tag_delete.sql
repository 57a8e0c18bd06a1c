-- Deletes the tags of a job.
-- ?1 job key number.
-- Index: tag (job, tag).
delete from tag where job = ?1
