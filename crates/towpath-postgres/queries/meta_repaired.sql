-- Adds to the nodes that recounts have put right.
-- $1 bigint how many. Returns nothing. Locks: the row.
update towpath.meta set repaired = repaired + $1::bigint
