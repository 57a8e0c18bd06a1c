-- Deletes a run that has ended and is no node, to make place for another one of its id.
-- $1 bigint job (key). Returns jobs (how many): none if a prune was first. Locks: those rows; waits for who has them.
-- Index: ended (job), output (job), progress (job), tag (job, tag), mark (job, name), attempt (job, attempt), job (key), run (job), entry (run, chapter, seq),
-- shown (run, name, seq), arrival (run, seq), unique_key (job).
with gone as (
  delete from towpath.ended where job = $1::bigint returning job
), o as (
  delete from towpath.output where job in (select job from gone)
), p as (
  delete from towpath.progress where job in (select job from gone)
), t as (
  delete from towpath.tag where job in (select job from gone)
), m as (
  delete from towpath.mark where job in (select job from gone)
), a as (
  delete from towpath.attempt where job in (select job from gone)
), j as (
  delete from towpath.job where key in (select job from gone)
), r as (
  delete from towpath.run where job in (select job from gone) returning id
), e as (
  delete from towpath.entry where run in (select job from gone)
), s as (
  delete from towpath.shown where run in (select job from gone)
), k as (
  delete from towpath.unique_key
  where job in (select job from gone) and (until_at is null or until_at <= towpath.clock())
), v as (
  delete from towpath.arrival where run in (select id from r)
)
select count(*) as jobs from gone
