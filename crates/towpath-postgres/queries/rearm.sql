-- Puts jobs that other builds could not run at the end of the head.
-- $1 bigint build. Returns lane of each, in no order. Reads the whole of `blocked`. Locks: those rows.
with gone as (
  delete from towpath.blocked where build <> $1::bigint returning *
), item as materialized (
  select lane, turnout, nextval('towpath.key') as seq, job, attempt, failures, crashes from gone order by job
), head as (
  insert into towpath.ready (lane, turnout, seq, job, attempt, failures, crashes) select * from item
)
select lane from item
