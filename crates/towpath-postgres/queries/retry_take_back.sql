-- Takes nodes of a graph back that came for a decision about their parents, which wait again, or about its stop, which are
-- ready again.
-- $1 bigint graph (key). Returns lane of each that is ready. Locks: those rows (held already).
-- Index: node (graph, name), running (job), undecided (job), node (job).
with member as materialized (
  select job from towpath.node where graph = $1::bigint
), over as (
  delete from towpath.undecided where job = any(array(select job from member)) returning job
), held as (
  delete from towpath.running r using towpath.node n
  where r.job = any(array(select job from member)) and r.decide in (1, 2, 4) and n.job = r.job
  returning r.job, r.lane, r.turnout, r.attempt, r.failures, r.crashes, n.phase
), waits as (
  update towpath.node set phase = 0
  where job = any(array(select job from over union select job from held where phase = 1))
), item as materialized (
  select lane, turnout, nextval('towpath.key') as seq, job, attempt, failures, crashes
  from held
  where phase = 2
  order by job
), head as (
  insert into towpath.ready (lane, turnout, seq, job, attempt, failures, crashes) select i.* from item i
)
select lane from item
