-- Reads when the first schedule that is not due will be.
-- ?1 now µs.
-- Returns next µs or NULL; one row.
-- Index: schedule (next, name).
select min(next) from schedule where next > ?1
