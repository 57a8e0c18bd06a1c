-- Forgets arrivals that runs have taken. Of those with a dedup key of their own the key stays.
-- $1 text the name of what is left; one array element per arrival: $2 bigint[] jobs (keys),
-- $3 bigint[] seqs.
-- Returns nothing. Locks: those rows.
-- Index: run (job), arrival (run, seq).
with item as materialized (
  select r.id, i.seq from unnest($2::bigint[], $3::bigint[]) as i(job, seq) join towpath.run r on r.job = i.job
), gone as (
  delete from towpath.arrival a using item i
  where a.run = i.id and a.seq = i.seq and (a.dedup is null or a.dedup = a.name)
)
update towpath.arrival a set name = $1::text, bytes = ''
from item i
where a.run = i.id and a.seq = i.seq and a.dedup is not null and a.dedup <> a.name
