-- The ancestors of a node that bear a name or are of a kind.
-- $1 uuid job, $2 boolean how far (false: its direct parents only), $3 text name (null for any), $4 text kind (null for
-- any), $5 int limit. A job keeps its parents as eight bytes each, little-endian.
-- Returns job (key), kind, by key.
-- No locks.
-- Index: job (id), job (key), node (job), lane (lane).
with recursive above(key) as (
  select p.key from towpath.job j
  cross join lateral (
    select get_byte(j.parents, o.at)::bigint | (get_byte(j.parents, o.at + 1)::bigint << 8)
      | (get_byte(j.parents, o.at + 2)::bigint << 16) | (get_byte(j.parents, o.at + 3)::bigint << 24)
      | (get_byte(j.parents, o.at + 4)::bigint << 32) | (get_byte(j.parents, o.at + 5)::bigint << 40)
      | (get_byte(j.parents, o.at + 6)::bigint << 48) | (get_byte(j.parents, o.at + 7)::bigint << 56) as key
    from generate_series(0, length(j.parents) - 8, 8) as o(at)
  ) p
  where j.id = $1::uuid
  union
  select p.key from above a
  join towpath.job j on j.key = a.key
  cross join lateral (
    select get_byte(j.parents, o.at)::bigint | (get_byte(j.parents, o.at + 1)::bigint << 8)
      | (get_byte(j.parents, o.at + 2)::bigint << 16) | (get_byte(j.parents, o.at + 3)::bigint << 24)
      | (get_byte(j.parents, o.at + 4)::bigint << 32) | (get_byte(j.parents, o.at + 5)::bigint << 40)
      | (get_byte(j.parents, o.at + 6)::bigint << 48) | (get_byte(j.parents, o.at + 7)::bigint << 56) as key
    from generate_series(0, length(j.parents) - 8, 8) as o(at)
  ) p
  where $2::boolean
)
select n.job, l.kind
from above a
join towpath.node n on n.job = a.key
join towpath.job j on j.key = a.key
join towpath.lane l on l.lane = j.lane
where ($3::text is null or n.name = $3::text) and ($4::text is null or l.kind = $4::text)
order by n.job
limit $5::int
