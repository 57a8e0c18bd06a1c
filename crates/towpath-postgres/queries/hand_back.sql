-- Puts jobs back unrun at no cost, and undecided nodes where decisions wait.
-- $1 bigint[] jobs (keys). Returns lane of each that is ready, and null for each node to be decided.
-- A node that was with a handler is remembered as started.
-- Locks: those rows (held already), and such nodes, in the order of their keys.
-- Index: running (job), node (job).
with gone as (
  delete from towpath.running where job = any($1::bigint[]) returning *
), kept as materialized (
  select g.*, n.phase is not distinct from 1 as undecided
  from gone g left join towpath.node n on n.job = case when g.graph is not null then g.job end
), claimed as materialized (
  select n.job from towpath.node n
  where n.job = any(array(select job from kept where decide = 0 and graph is not null)) and not n.started
  order by n.job
  for update
), noted as (
  update towpath.node set started = true where job = any(array(select job from claimed))
), item as materialized (
  select lane, turnout, nextval('towpath.key') as seq, job,
    greatest(attempt - case when decide = 0 then 1 else 0 end, 0) as attempt, failures, crashes
  from kept where not undecided order by turn, idx
), head as (
  insert into towpath.ready (lane, turnout, seq, job, attempt, failures, crashes) select * from item
), waits as (
  insert into towpath.undecided (job) select job from kept where undecided
)
select case when not undecided then lane end as lane from kept
