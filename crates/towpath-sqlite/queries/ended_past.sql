-- Lists lone jobs that are past their retention.
-- ?1 now µs, ?2 most rows.
-- Returns job, by prune_at and job.
-- Index: ended (prune_at, job).
select job from ended where prune_at <= ?1 order by prune_at, job limit ?2
