-- Deletes arrivals that a run has taken, unless they have a dedup key of their own.
-- ?1 run id text, ?2 their numbers as JSON text.
-- Index: arrival (run, seq).
delete from arrival
where run = ?1 and seq in (select value from json_each(?2)) and (dedup is null or dedup = name)
