-- Undoes a verb alone.
rollback to verb
