-- Looks at a run before a signal is put into its inbox.
-- ?1 run id text.
-- Returns one row: how many arrivals there are, whether the run is there, whether it has ended.
-- Index: arrival (run, seq), run (id), ended (job).
select
    (select count(*) from arrival where run = ?1),
    exists (select 1 from run where id = ?1),
    exists (select 1 from run r join ended e on e.job = r.job where r.id = ?1)
