-- Keeps a turn's number and answers for its repeat.
-- ?1 worker key, ?2 turn: numbers; ?3 a byte for each answer.
-- Index: worker (worker).
update worker set turn = ?2, settled = ?3 where worker = ?1
