-- Takes a node from those that nobody holds.
-- ?1 job key number.
-- Index: undecided (job).
delete from undecided where job = ?1
