-- Begins a verb that shares its transaction with others.
savepoint verb
