-- Leases undecided nodes to a worker.
-- $1 bigint now (us), $2 bigint worker, $3 bigint turn, $4 int first index, $5 bigint[] jobs (keys),
-- $6 smallint[] decisions. Returns nothing. Locks: the nodes (held already).
-- Index: node (job), job (key).
with marked as (
  update towpath.node set phase = 1 where job = any($5::bigint[])
)
insert into towpath.running (job, worker, turn, started_at, graph, idx, lane, turnout, attempt, failures, crashes,
  decide, id)
select j.key, $2::bigint, $3::bigint, $1::bigint, j.graph, $4::int + u.place - 1, j.lane, -j.priority::int, 0, 0, 0,
  u.decide, j.id
from unnest($5::bigint[], $6::smallint[]) with ordinality as u(job, decide, place)
join towpath.job j on j.key = u.job
