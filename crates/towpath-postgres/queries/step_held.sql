-- A whole turn of a worker whose runs write and go on, under their claims, without a look at them first: if anything is not as it is
-- hoped to be, all of it raises.
-- $1 uuid incarnation of the worker, $2 bigint turn, $3 bytea its answers; one array element per run, in the order of their
-- keys: $4 bigint[] jobs (keys of lone jobs), $5 bigint[] turns and $6 int[] indexes of the claims, $7 int[] lines; one array
-- element per line: $8 bigint[] runs, $9 int[] place in what its run writes (from 0), $10 smallint[] codecs, $11 bytea[] bytes.
-- Returns one row: nothing of use, now (us), until_at (us or null), next_due (us or null).
-- Raises TP001 if the worker is not known or has taken this turn or a later one, or if a run is not held, is to stop, or pauses.
-- Locks: the worker's row, but not against a heartbeat; the running rows, in the order of their keys; the run rows. `+ 0` keeps the
-- planner from going through all that the worker holds.
-- Index: worker (incarnation), running (job), run (job), later (due, job), lease (worker).
with me as (
  update towpath.worker set turn = $2::bigint, settled = $3::bytea
  where incarnation = $1::uuid and turn < $2::bigint
  returning worker
), clock as materialized (
  select towpath.clock() as now
), item as materialized (
  select * from unnest($4::bigint[], $5::bigint[], $6::int[], $7::int[]) as i(job, turn, idx, lines)
), held as materialized (
  select i.job, i.lines
  from item i join towpath.running r on r.job = i.job
  where r.worker + 0 = (select worker from me) and r.turn + 0 = i.turn and r.idx = i.idx and r.graph is null and r.decide = 0
    and r.cancel is null
  for update of r
), grown as (
  update towpath.run u set entries = u.entries + h.lines from held h
  where u.job = h.job and u.paused is null
  returning u.job
), kept as (
  -- The run rows as they were; one that another has written to since has its line there already, and this one raises.
  insert into towpath.entry (run, chapter, seq, codec, bytes, at)
  select l.run, u.chapter, u.entries + l.nth, l.codec, l.bytes, (select now from clock)
  from unnest($8::bigint[], $9::int[], $10::smallint[], $11::bytea[]) as l(run, nth, codec, bytes)
  join towpath.run u on u.job = l.run
)
select towpath.must((select count(*) from grown) = (select count(*) from item), 'a claim does not hold: the turn looks first'),
  (select now from clock) as now,
  (select l.until_at from towpath.lease l where l.worker = (select worker from me)) as until_at,
  nullif((select min(due) from towpath.later), 9223372036854775807) as next_due
