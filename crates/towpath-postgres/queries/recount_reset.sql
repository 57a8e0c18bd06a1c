-- Makes nodes wait again that had come for a decision by a wrong count.
-- $1 bigint[] jobs (keys). Returns nothing. Locks: those rows.
-- Index: undecided (job), running (job), node (job).
with over as (
  delete from towpath.undecided where job = any($1::bigint[])
), held as (
  delete from towpath.running where job = any($1::bigint[])
)
update towpath.node set phase = 0 where job = any($1::bigint[])
