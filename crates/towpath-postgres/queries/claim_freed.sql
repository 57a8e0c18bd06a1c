-- As `claim`, and nodes that the same turn has released are among what may be taken: one that is given to the worker at once is
-- never written where it would wait. Those that are not stand ready, or wait until they are due; delays count from now.
-- $1 to $15 as for `claim`; $16 bigint[] jobs (keys) that are free now, as their nodes say already. They arrive behind all that is there.
-- Goes on in `claim_hold`, which says what it returns.
-- Locks: the ready rows; locked ones are skipped.
-- Index: job (key), node (job), lane (queue, kind, version), ready (lane, turnout, seq).
with freed as materialized (
  select j.key as job, j.lane, -j.priority::int as turnout, nextval('towpath.key') as seq,
    coalesce($1::bigint + j.delay_us, j.due_at, $1::bigint) as due
  from towpath.job j where j.key = any($16::bigint[])
  order by j.key
), released as materialized (
  select f.*, n.attempt from freed f join towpath.node n on n.job = f.job
), wait as (
  insert into towpath.later (job, due, lane, turnout, attempt, failures, crashes)
  select job, due, lane, turnout, attempt, 0, 0 from released where due > $1::bigint
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
  select r.place, c.*
  from reach r cross join lateral (
    select h.ctid as tid, h.lane, h.turnout, h.seq, h.job, h.attempt, h.failures, h.crashes
    from towpath.ready h
    where h.lane = r.lane and (h.turnout, h.seq) >= (r.from_turnout, r.from_seq) and h.turnout < r.to_turnout
    order by h.turnout, h.seq
    limit ($10::int[])[r.place]
    for update skip locked
  ) c
  union all
  select s.place, null, f.lane, f.turnout, f.seq, f.job, f.attempt, 0, 0
  from released f left join served s on s.lane = f.lane
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
),
