-- Deletes arrivals whose runs were not there when they came, past their retention. One whose run is there now is kept as
-- long as that.
-- $1 int limit. Returns arrivals (how many were deleted). Locks: those rows; locked ones are skipped.
-- Index: arrival (prune_at, seq), run (id).
with old as materialized (
  select a.ctid as tid, exists (select 1 from towpath.run r where r.id = a.run) as is_there
  from towpath.arrival a where a.prune_at <= towpath.clock()
  order by a.prune_at, a.seq limit $1::int for update of a skip locked
), kept as (
  update towpath.arrival set prune_at = null where ctid = any(array(select tid from old where is_there))
), gone as (
  delete from towpath.arrival where ctid = any(array(select tid from old where not is_there)) returning seq
)
select count(*) as arrivals from gone
