-- Looks at a run before a signal is put into its inbox.
-- ?1 run id text.
-- Returns one row: how many arrivals there are, whether the run is there, whether it has ended, pruned or not.
-- Index: arrival (run, seq), run (id), ended (job), tombstone (run).
select
    (select count(*) from arrival where run = ?1),
    exists (select 1 from run where id = ?1),
    case when exists (select 1 from run where id = ?1)
        then exists (select 1 from run r join ended e on e.job = r.job where r.id = ?1)
        else exists (select 1 from tombstone where run = ?1) end
