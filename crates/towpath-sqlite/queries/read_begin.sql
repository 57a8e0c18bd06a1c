-- Begins a transaction that only reads: one snapshot for all its statements.
begin deferred
