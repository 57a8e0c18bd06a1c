-- Lists lone jobs that are past their retention.
-- ?1 now µs, ?2 most rows.
-- Returns job, whether it is a run whose id may stay taken; by prune_at and job.
-- Index: ended (prune_at, job), run (job).
select e.job, r.keep_id_us is not null
from ended e
left join run r on r.job = e.job
where e.prune_at <= ?1
order by e.prune_at, e.job
limit ?2
