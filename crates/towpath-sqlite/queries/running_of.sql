-- Lists what a worker holds.
-- ?1 worker key, ?2 most rows: numbers.
-- Returns job, by turn and idx.
-- Index: running (worker, turn, idx).
select job from running where worker = ?1 order by turn, idx limit ?2
