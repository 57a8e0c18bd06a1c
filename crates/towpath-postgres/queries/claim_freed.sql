-- As `claim`, and nodes that the same turn has released are among what may be taken: one that is given to the worker at once is
-- never written where it would wait. Those that are not stand ready, or wait until they are due; delays count from now.
-- $1 to $15 as for `claim`; $16 bigint[] jobs (keys) that are free now, as their nodes say already. They arrive behind all that is there.
-- Goes on in `claim_hold`, which says what it returns.
-- Locks: the ready rows; locked ones are skipped.
-- Index: job (key), node (job), graph (graph), lane (queue, kind, version), ready (lane, turnout, seq), stop (graph),
-- run (job).
with freed as materialized (
  -- All that is said of them comes from here, read once.
  select j.key as job, j.lane, -j.priority::int as turnout, nextval('towpath.key') as seq,
    coalesce($1::bigint + j.delay_us, j.due_at, $1::bigint) as due, n.attempt,
    j.id, j.rules, j.deadline, j.graph, j.codec, j.input, j.headers, j.enqueued_at, j.run, g.id as of_graph, n.name, n.role
  from towpath.job j
  join towpath.node n on n.job = j.key
  join towpath.graph g on g.graph = j.graph
  where j.key = any($16::bigint[])
  order by j.key
), wait as (
  insert into towpath.later (job, due, lane, turnout, attempt, failures, crashes)
  select job, due, lane, turnout, attempt, 0, 0 from freed where due > $1::bigint
), served as materialized (
  select min(s.place) as place, l.lane
  from unnest($6::int[], $7::text[], $8::text[], $15::int[], $9::int[]) as s(place, queue, kind, oldest, newest)
  join towpath.lane l on l.queue = s.queue and l.kind = s.kind and l.version between s.oldest and s.newest
  group by l.lane
), reach as materialized (
  select s.place, s.lane, coalesce(r.from_turnout, -100000) as from_turnout, coalesce(r.from_seq, 0) as from_seq,
    coalesce(r.to_turnout, 100000) as to_turnout
  from served s
  left join unnest($11::int[], $12::int[], $13::bigint[], $14::int[]) as r(lane, from_turnout, from_seq, to_turnout)
    on r.lane = s.lane
), candidate as materialized (
  select r.place, c.*, null as id, null as rules, null as deadline, null as graph, null as codec, null as input,
    null as headers, null as enqueued_at, null as run, null as of_graph, null as name, null as role
  from reach r cross join lateral (
    select h.ctid as tid, h.lane, h.turnout, h.seq, h.job, h.attempt, h.failures, h.crashes
    from towpath.ready h
    where h.lane = r.lane and (h.turnout, h.seq) >= (r.from_turnout, r.from_seq) and h.turnout < r.to_turnout
    order by h.turnout, h.seq
    limit ($10::int[])[r.place]
    for update skip locked
  ) c
  union all
  select s.place, null, f.lane, f.turnout, f.seq, f.job, f.attempt, 0, 0, f.id, f.rules, f.deadline, f.graph, f.codec, f.input,
    f.headers, f.enqueued_at, f.run, f.of_graph, f.name, f.role
  from freed f left join served s on s.lane = f.lane
  where f.due <= $1::bigint
), placed as materialized (
  -- In the order in which they are given; what a queue may not give comes last.
  select *, is_within and row_number() over (order by is_within desc, place, turnout, seq) <= $5::int as is_taken
  from (
    select *, coalesce(rank <= ($10::int[])[place], false) as is_within
    from (select *, row_number() over (partition by place order by turnout, seq)::int as rank from candidate) c
  ) r
), picked as materialized (
  select *, ($4::int[])[place] + rank - 1 as idx from placed where is_taken order by place, turnout, seq
), gone as (
  delete from towpath.ready where ctid = any(array(select tid from picked where tid is not null))
), kept as (
  insert into towpath.ready (lane, turnout, seq, job, attempt, failures, crashes)
  select lane, turnout, seq, job, attempt, failures, crashes from placed where tid is null and not is_taken
), rest as (
  select distinct lane from placed where tid is null and not is_taken
), found as materialized (
  -- What was freed is in no graph that is stopped.
  select p.job, p.idx, p.place, p.lane, p.turnout, p.seq, p.attempt, p.failures, p.crashes,
    case when s.reason in (0, 3) and n.role & (case s.reason when 3 then 80 else 16 end) <> 0 then null else s.reason end
      as reason,
    coalesce(p.id, j.id) as id, coalesce(p.rules, j.rules) as rules, coalesce(p.deadline, j.deadline) as deadline,
    coalesce(p.graph, j.graph) as graph, coalesce(p.codec, j.codec) as codec, coalesce(p.input, j.input) as input,
    coalesce(p.headers, j.headers) as headers, coalesce(p.enqueued_at, j.enqueued_at) as enqueued_at,
    coalesce(p.run, j.run) as run, coalesce(p.of_graph, g.id) as of_graph, coalesce(p.name, n.name) as name,
    coalesce(p.role, n.role) as role
  from picked p
  left join towpath.job j on j.key = case when p.tid is not null then p.job end
  left join towpath.stop s on s.graph = j.graph
    and (s.reason not in (0, 3) or not exists (
      select 1 from towpath.run u where u.job = j.key and u.entries > 0))
  left join towpath.graph g on g.graph = j.graph
  left join towpath.node n on n.job = case when j.graph is not null then p.job end
),
