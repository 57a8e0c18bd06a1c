-- Begins a transaction that writes. Never a deferred one: it would be refused when it begins to write.
begin immediate
