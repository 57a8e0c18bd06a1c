-- Says whether a signal with this dedup key has arrived.
-- ?1 run id text, ?2 dedup text.
-- Returns one row or none.
-- Index: arrival (run, dedup).
select 1 from arrival where run = ?1 and dedup = ?2
