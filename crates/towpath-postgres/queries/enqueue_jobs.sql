-- Writes jobs and puts lone ones and roots where they are due.
-- $1 bigint now (us), null to read the clock; then one array element per job: $2 bigint[] keys, null to draw one,
-- $3 uuid[] ids, $4 int[] lanes, $5 smallint[] priorities, $6 bigint[] delays (us), $7 bigint[] due (us),
-- $8 bigint[] deadlines (us), $9 text[] rules, $10 text[] tags, $11 text[] headers, $12 smallint[] codecs,
-- $13 bytea[] inputs, $14 bigint[] graphs, $15 bytea[] parents, $16 boolean[] whether it is a run.
-- Arrays of nulls may be empty.
-- Returns one row: now (us), inserted (count), first (least key), ids (of the inserted, null when all were).
-- An id that is there is left out. Locks: the new rows; waits for another writer of the same id.
-- Index: job (id).
with clock as materialized (
  select coalesce($1::bigint, towpath.clock()) as now
), item as materialized (
  select coalesce(i.key, nextval('towpath.key')) as key, i.id, i.lane, i.priority, i.delay_us, i.due_at, i.deadline,
    i.rules, i.tags, i.headers, i.codec, i.input, i.graph, i.parents, i.run
  from unnest($2::bigint[], $3::uuid[], $4::int[], $5::smallint[], $6::bigint[], $7::bigint[], $8::bigint[],
    $9::text[], $10::text[], $11::text[], $12::smallint[], $13::bytea[], $14::bigint[], $15::bytea[], $16::boolean[])
    as i(key, id, lane, priority, delay_us, due_at, deadline, rules, tags, headers, codec, input, graph, parents,
      run)
), born as (
  insert into towpath.job (key, id, lane, priority, enqueued_at, delay_us, due_at, deadline, rules, tags, headers,
    codec, input, graph, parents, run)
  select key, id, lane, priority, (select now from clock), delay_us, due_at, deadline, rules, tags, headers, codec,
    input, graph, parents, run
  from item
  on conflict (id) do nothing
  returning key, id, lane, -priority::int as turnout, deadline, graph is null or parents = '' as free,
    coalesce(enqueued_at + delay_us, due_at, enqueued_at) as due
), head as (
  insert into towpath.ready (lane, turnout, seq, job, attempt, failures, crashes)
  select lane, turnout, key, key, 0, 0, 0 from born where free and due <= (select now from clock)
), wait as (
  insert into towpath.later (job, due, lane, turnout, attempt, failures, crashes)
  select key, due, lane, turnout, 0, 0, 0 from born where free and due > (select now from clock)
), watch as (
  insert into towpath.deadline (job, at) select key, deadline from born where deadline is not null
)
select (select now from clock) as now, count(*) as inserted, min(key) as first,
  case when count(*) < cardinality($3::uuid[]) then array_agg(id) end as ids
from born
