-- Reads the clock and draws keys.
-- $1 int: how many keys.
-- Returns one row: now (us), keys ascending. No index, no locks.
select towpath.clock() as now, array(select nextval('towpath.key') from generate_series(1, $1::int)) as keys
