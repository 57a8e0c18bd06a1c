-- Writes back the sequence after a transaction drew from it.
-- ?1 next number.
update meta set next = ?1
