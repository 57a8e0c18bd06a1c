-- Says what a running job is held for.
-- ?1 job key number.
-- Returns decide; one row or none. Index: primary key.
select decide from running where job = ?1
