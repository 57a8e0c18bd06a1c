-- Registers a worker, or finds it, and renews its lease.
-- $1 uuid incarnation, $2 bigint turn (the last one it has seen), $3 text name, $4 text machine, $5 text boot,
-- $6 text pid namespace, $7 bigint pid, $8 bigint started, $9 bigint build, $10 text queues (JSON), $11 text kinds (JSON),
-- $12 bigint lease (us).
-- Returns worker (key), now (us), fresh (whether it was registered now), wish (what was asked of it, JSON); no row when another changed it meanwhile: ask
-- again. Locks: the lease's row; the worker's row against being forgotten.
-- Index: worker (incarnation), lease (worker).
with clock as materialized (
  select towpath.clock() as now
), made as (
  insert into towpath.worker (worker, incarnation, turn, name, machine, boot, pid_namespace, pid, started, build, queues,
    kinds, registered_at)
  select nextval('towpath.key'), $1::uuid, $2::bigint, $3::text, $4::text, $5::text, $6::text, $7::bigint, $8::bigint,
    $9::bigint, $10::text, $11::text, now
  from clock where not exists (select 1 from towpath.worker where incarnation = $1::uuid)
  on conflict (incarnation) do nothing
  returning worker
), known as (
  select worker from towpath.worker where incarnation = $1::uuid for key share
), who as materialized (
  select worker, true as fresh from made union all select worker, false from known
), renewed as (
  insert into towpath.lease (worker, until_at)
  select worker, (select least(now::numeric + $12::bigint, 9223372036854775807)::bigint from clock) from who
  on conflict (worker) do update set until_at = excluded.until_at
  returning wish
)
select worker, (select now from clock) as now, fresh, (select wish from renewed) as wish from who
