-- Lifts a stop.
-- ?1 graph key, ?2 reason: numbers.
-- Index: stop (graph).
delete from stop where graph = ?1 and reason = ?2
