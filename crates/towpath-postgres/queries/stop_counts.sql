-- How the nodes of a graph stand, `end` and undos left out.
-- $1 bigint graph (key). Returns ended, running (with a handler, or a run that has
-- begun), unstarted (counts). No locks.
-- Index: node (graph, name), ended (job), running (job), run (job).
with member as materialized (
  select job, phase from towpath.node where graph = $1::bigint and role & 24 = 0
), ended as (
  -- Only a node that was released, or came for a decision, has ended; only one that was released runs.
  select count(*) as n from towpath.ended where job = any(array(select job from member where phase > 0))
), running as (
  select count(*) as n from (
    select job from towpath.running where job = any(array(select job from member where phase = 2)) and decide = 0
    union
    select u.job from towpath.run u
    where u.job = any(array(select job from member where phase > 0)) and u.entries > 0
      and not exists (select 1 from towpath.ended e where e.job = u.job)
  ) at_work
)
select ended.n as ended, running.n as running, (select count(*) from member) - ended.n - running.n as unstarted
from ended, running
