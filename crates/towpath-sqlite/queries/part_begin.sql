-- Begins a part of a verb that may be refused alone.
savepoint part
