-- Deletes nodes of a graph with everything about them.
-- $1 bigint graph (key), $2 int limit. Returns nodes (how many, `end` among them), more (whether any are left).
-- Locks: those rows.
-- Index: node (graph, name), edge (parent, ord), node (job), ended (job), output (job), progress (job), tag (job, tag), mark (job, name), attempt (job, attempt),
-- deadline (job), job (key), run (job), entry (run, chapter, seq), shown (run, name, seq), arrival (run, seq).
with old as materialized (
  select job from towpath.node where graph = $1::bigint order by job limit $2::int
), e as (
  delete from towpath.edge where parent = any(array(select job from old))
), n as (
  delete from towpath.node where job = any(array(select job from old))
), x as (
  delete from towpath.ended where job = any(array(select job from old))
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
), d as (
  delete from towpath.deadline where job = any(array(select job from old))
), j as (
  delete from towpath.job where key = any(array(select job from old)) returning key, run
), r as (
  delete from towpath.run where job = any(array(select key from j where run)) returning id
), l as (
  delete from towpath.entry where run = any(array(select key from j where run))
), s as (
  delete from towpath.shown where run = any(array(select key from j where run))
), v as (
  delete from towpath.arrival where run = any(array(select id from r))
)
select (select count(*) from old) as nodes,
  exists (select 1 from towpath.node where graph = $1::bigint and job <> all(array(select job from old))) as more
