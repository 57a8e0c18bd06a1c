-- Gives a job of a dead worker to another one, under a new claim.
-- ?1 job key, ?2 worker key, ?3 turn, ?4 idx: numbers.
-- Index: running (job).
update running set worker = ?2, turn = ?3, idx = ?4 where job = ?1
