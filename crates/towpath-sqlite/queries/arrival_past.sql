-- Finds arrivals whose runs were not there when they came, past their retention.
-- ?1 now µs, ?2 most rows number.
-- Returns run, seq, whether the run is there now, by prune_at and seq.
-- Index: arrival (prune_at, seq), run (id).
select a.run, a.seq, exists (select 1 from run r where r.id = a.run)
from arrival a
where a.prune_at <= ?1
order by a.prune_at, a.seq
limit ?2
