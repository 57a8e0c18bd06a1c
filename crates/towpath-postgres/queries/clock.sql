-- Reads the clock. Returns now (us). No index, no locks.
select towpath.clock() as now
