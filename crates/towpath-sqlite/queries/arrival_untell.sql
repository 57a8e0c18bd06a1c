-- Deletes what the engine has told a run: a cancel, ends of children.
-- ?1 run id text, ?2 the name of the arrival that cancels text, ?3 how those of children begin text.
-- Index: arrival (run, seq).
delete from arrival where run = ?1 and (name = ?2 or substr(name, 1, length(?3)) = ?3)
