-- Lists what a worker holds since turns whose answer it has seen.
-- ?1 worker key, ?2 the last such turn: numbers.
-- Returns job, by turn and idx.
-- Index: running (worker, turn, idx).
select job from running where worker = ?1 and turn <= ?2 order by turn, idx
