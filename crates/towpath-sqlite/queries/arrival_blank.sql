-- Leaves of arrivals that a run has taken only their dedup keys.
-- ?1 run id text, ?2 their numbers as JSON text, ?3 name text.
-- Index: arrival (run, seq).
update arrival set name = ?3, bytes = x''
where run = ?1 and seq in (select value from json_each(?2))
