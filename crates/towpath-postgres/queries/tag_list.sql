-- Lists tags with how many jobs have each. Steps from tag to tag, however many jobs have one.
-- $1 text the least that may be, $2 text the first that may not be any more (or null), $3 text after which (or null),
-- $4 int most rows, $5 int up to how many jobs of each are counted.
-- Returns tag, jobs (count), by tag. No locks.
-- Index: tag (tag, job).
with recursive named(tag) as (
  select (select t.tag from towpath.tag t
          where t.tag >= $1::text collate "C" and ($3::text is null or t.tag > $3::text collate "C")
            and ($2::text is null or t.tag < $2::text collate "C")
          order by t.tag limit 1) collate "C"
  union all
  select (select t.tag from towpath.tag t
          where t.tag > n.tag and ($2::text is null or t.tag < $2::text collate "C")
          order by t.tag limit 1)
  from named n where n.tag is not null
)
select n.tag, (select count(*) from (select from towpath.tag t where t.tag = n.tag limit $5::int) as few) as jobs
from named n where n.tag is not null
limit $4::int
