-- Deletes lone jobs past their retention.
-- $1 int limit. Returns jobs (how many). Locks: those rows; locked ones are skipped.
-- Index: ended (prune_at, job), ended (job), output (job), progress (job), tag (job, tag), mark (job, name), attempt (job, attempt), job (key), run (job),
-- entry (run, chapter, seq), shown (run, name, seq), arrival (run, seq), unique_key (job).
with old as materialized (
  select job from towpath.ended where prune_at <= towpath.clock()
  order by prune_at, job limit $1::int for update skip locked
), gone as (
  delete from towpath.ended where job = any(array(select job from old)) returning job
), o as (
  delete from towpath.output where job = any(array(select job from old))
), p as (
  delete from towpath.progress where job = any(array(select job from old))
), t as (
  delete from towpath.tag where job = any(array(select job from old))
), m as (
  delete from towpath.mark where job = any(array(select job from old))
), a as (
  delete from towpath.attempt where job = any(array(select job from old))
), j as (
  delete from towpath.job where key = any(array(select job from old)) returning key, run
), r as (
  delete from towpath.run where job = any(array(select key from j where run)) returning id
), e as (
  delete from towpath.entry where run = any(array(select key from j where run))
), s as (
  delete from towpath.shown where run = any(array(select key from j where run))
), k as (
  delete from towpath.unique_key
  where job = any(array(select job from old)) and (until_at is null or until_at <= towpath.clock())
), v as (
  delete from towpath.arrival where run = any(array(select id from r))
)
select count(*) as jobs from gone
