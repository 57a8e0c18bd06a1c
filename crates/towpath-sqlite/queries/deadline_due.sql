-- Lists deadlines that have passed.
-- ?1 now µs, ?2 most rows.
-- Returns at, job, by at and job.
-- Index: deadline (at, job).
select at, job from deadline where at <= ?1 order by at, job limit ?2
