-- Takes nodes of a graph back that came for a decision about their parents, which wait again, or about its stop, which are
-- ready again.
-- $1 bigint graph (key). Returns lane of each that is ready. Locks: those rows (held already).
-- Index: node (graph, name), running (job), undecided (job), node (job).
with member as materialized (
  select job, phase from towpath.node where graph = $1::bigint
), over as (
  delete from towpath.undecided where job = any(array(select job from member)) returning job
), held as (
  delete from towpath.running where job = any(array(select job from member)) and decide in (1, 2, 4)
  returning job, lane, turnout, attempt, failures, crashes
), waits as (
  update towpath.node set phase = 0
  where job = any(array(select job from over union select h.job from held h join member m on m.job = h.job where m.phase = 1))
), item as materialized (
  select h.lane, h.turnout, nextval('towpath.key') as seq, h.job, h.attempt, h.failures, h.crashes
  from held h join member m on m.job = h.job
  where m.phase = 2
  order by h.job
), head as (
  insert into towpath.ready (lane, turnout, seq, job, attempt, failures, crashes) select i.* from item i
)
select lane from item
