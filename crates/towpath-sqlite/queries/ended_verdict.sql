-- Reads what an end means to edges.
-- ?1 job key number.
-- Returns state, branches; one row or none.
-- Index: ended (job).
select state, branches from ended where job = ?1
