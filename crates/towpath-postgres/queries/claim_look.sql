-- Looks at the head as a claim would, for a turn that claims job by job.
-- $1 text queue; served kinds: $2 text[] kind, $3 int[] newest version, $5 int[] oldest version;
-- $4 int limit.
-- Returns job (key), lane, turnout, seq, whether it is a node, rules (JSON), by turnout and seq.
-- Locks: the ready rows; locked ones are skipped.
-- Index: lane (queue, kind, version), ready (lane, turnout, seq), job (key).
with lanes as materialized (
  select distinct l.lane
  from unnest($2::text[], $5::int[], $3::int[]) as s(kind, oldest, newest)
  join towpath.lane l on l.queue = $1::text and l.kind = s.kind and l.version between s.oldest and s.newest
), candidate as materialized (
  select c.* from lanes l cross join lateral (
    select h.job, h.lane, h.turnout, h.seq
    from towpath.ready h
    where h.lane = l.lane
    order by h.turnout, h.seq
    limit $4::int
    for update skip locked
  ) c
)
select c.job, c.lane, c.turnout, c.seq, j.graph is not null as is_node, j.rules
from candidate c join towpath.job j on j.key = c.job
order by c.turnout, c.seq
limit $4::int
