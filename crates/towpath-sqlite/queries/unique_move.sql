-- Moves a unique key with its job, which was written anew.
-- ?1 old job key number, ?2 new job key number.
-- Index: unique_key (job).
update unique_key set job = ?2 where job = ?1
