-- Forgets the unique key of a job or graph that is deleted, unless its window is not over.
-- ?1 job or graph key number, ?2 now µs.
-- Index: unique_key (job).
delete from unique_key where job = ?1 and (until_at is null or until_at <= ?2)
