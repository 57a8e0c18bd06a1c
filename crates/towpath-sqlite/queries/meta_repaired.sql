-- Adds to the nodes that recounts have put right.
-- ?1 how many number.
update meta set repaired = repaired + ?1
