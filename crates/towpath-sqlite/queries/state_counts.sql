-- Counts jobs by state, each up to a limit.
-- ?1 the limit.
-- Returns one row: ready, later, running with a handler, blocked, dead, quarantined, cancelled, skipped, graphs that have
-- not ended, nodes that were put right.
-- Index: ready (job), later (due, job), ended (state, job), graph (graph).
select
    (select count(*) from (select 1 from ready limit ?1)),
    (select count(*) from (select 1 from later limit ?1)),
    (select count(*) from (select 1 from running where decide = 0 limit ?1)),
    (select count(*) from (select 1 from blocked limit ?1)),
    (select count(*) from (select 1 from ended where state = 1 and state <> 0 limit ?1)),
    (select count(*) from (select 1 from ended where state = 2 and state <> 0 limit ?1)),
    (select count(*) from (select 1 from ended where state = 3 and state <> 0 limit ?1)),
    (select count(*) from (select 1 from ended where state in (4, 5) and state <> 0 limit ?1)),
    (select count(*) from (select 1 from graph where "end" is null limit ?1)),
    (select repaired from meta)
