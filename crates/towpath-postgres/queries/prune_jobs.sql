-- Deletes lone jobs past their retention, and writes down the ids of runs that stay taken for longer.
-- $1 int limit. Returns jobs (how many). Locks: those rows; locked ones are skipped.
-- Index: ended (prune_at, job), ended (job), output (job), progress (job), tag (job, tag), mark (job, name), attempt (job, attempt), job (key), run (job),
-- entry (run, chapter, seq), shown (run, name, seq), arrival (run, seq), unique_key (job), tombstone (run).
with old as materialized (
  select job from towpath.ended where prune_at <= towpath.clock()
  order by prune_at, job limit $1::int for update skip locked
), gone as (
  delete from towpath.ended where job = any(array(select job from old)) returning job, state, ended_at
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
  delete from towpath.job where key = any(array(select job from old)) returning key, id, lane, run
), r as (
  delete from towpath.run where job = any(array(select key from j where run)) returning job, id, keep_id_us
), tomb as (
  insert into towpath.tombstone (run, job, lane, state, ended_at, until_at)
  select r.id, j.id, j.lane, g.state, g.ended_at, g.ended_at + r.keep_id_us
  from r join j on j.key = r.job join gone g on g.job = r.job
  where g.ended_at + r.keep_id_us > towpath.clock()
  on conflict (run) do update set job = excluded.job, lane = excluded.lane, state = excluded.state,
    ended_at = excluded.ended_at, until_at = excluded.until_at
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
