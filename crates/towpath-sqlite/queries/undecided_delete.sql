-- Takes a node from those that nobody holds.
-- ?1 job key number.
delete from undecided where job = ?1
