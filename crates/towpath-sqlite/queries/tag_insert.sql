-- Gives a job a tag, unless it has it.
-- ?1 job key number, ?2 tag text.
-- Index: tag (job, tag), tag (tag, job).
insert or ignore into tag (job, tag) values (?1, ?2)
