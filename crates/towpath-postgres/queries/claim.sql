-- Takes due jobs under a lease: per queue by turnout (priority first), then seq, across its lanes.
-- $1 bigint now (us), $2 bigint worker, $3 bigint turn, $4 int[] first index per queue, $5 int most jobs in all;
-- served kinds: $6 int[] queue's place from 1, $7 text[] queue, $8 text[] kind, $9 int[] newest version,
-- $15 int[] oldest version;
-- $10 int[] limit per queue;
-- where to look (lanes that are left out are looked through whole): $11 int[] lane, $12 int[] from turnout,
-- $13 bigint[] from seq, $14 int[] up to turnout, not included.
-- Goes on in `claim_hold`, which says what it returns.
-- Locks: the ready rows; locked ones are skipped.
-- Index: lane (queue, kind, version), ready (lane, turnout, seq), job (key), stop (graph), graph (graph), node (job),
-- run (job).
with served as materialized (
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
  select r.place, c.*
  from reach r cross join lateral (
    select h.ctid as tid, h.lane, h.turnout, h.seq, h.job, h.attempt, h.failures, h.crashes
    from towpath.ready h
    where h.lane = r.lane and (h.turnout, h.seq) >= (r.from_turnout, r.from_seq) and h.turnout < r.to_turnout
    order by h.turnout, h.seq
    limit ($10::int[])[r.place]
    for update skip locked
  ) c
), picked as materialized (
  select *, ($4::int[])[place] + rank - 1 as idx
  from (select *, row_number() over (partition by place order by turnout, seq)::int as rank from candidate) c
  where rank <= ($10::int[])[place]
  order by place, turnout, seq
  limit $5::int
), gone as (
  delete from towpath.ready where ctid = any(array(select tid from picked))
), rest as (
  select lane from picked where false
), found as materialized (
  select p.*,
    case when s.reason in (0, 3) and n.role & (case s.reason when 3 then 80 else 16 end) <> 0 then null else s.reason end
      as reason,
    j.id, j.rules, j.deadline, j.graph, j.codec, j.input, j.headers, j.enqueued_at, j.run, g.id as of_graph, n.name, n.role
  from picked p
  join towpath.job j on j.key = p.job
  left join towpath.stop s on s.graph = j.graph
    -- A run that has begun obeys a cancel, or a failure beside it, with its handler.
    and (s.reason not in (0, 3) or not exists (
      select 1 from towpath.run u where u.job = j.key and u.entries > 0))
  left join towpath.graph g on g.graph = j.graph
  left join towpath.node n on n.job = case when j.graph is not null then p.job end
),
