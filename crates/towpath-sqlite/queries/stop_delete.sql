-- Lifts a stop.
-- ?1 graph key, ?2 reason: numbers.
delete from stop where graph = ?1 and reason = ?2
