-- Undoes a part.
rollback to part
