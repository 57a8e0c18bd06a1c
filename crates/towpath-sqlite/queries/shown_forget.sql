-- Deletes answers of a run that nobody can ask for twice, and that are old enough.
-- ?1 job key number, ?2 from which name, ?3 below which name, ?4 up to when: µs.
-- Index: shown (run, name, seq).
delete from shown where run = ?1 and name >= ?2 and name < ?3 and at <= ?4 and seq = 0
