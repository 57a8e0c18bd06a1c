-- Lists tags with how many jobs have each. Steps from tag to tag, however many jobs have one.
-- ?1 the least that may be, ?2 the first that may not be any more or NULL, ?3 after which or NULL, ?4 most rows,
-- ?5 up to how many jobs of each are counted.
-- Returns tag, jobs (count), by tag.
-- Index: tag (tag, job).
with recursive named(tag) as (
    select (select min(t.tag) from tag t where t.tag >= ?1 and (?3 is null or t.tag > ?3) and (?2 is null or t.tag < ?2))
    union all
    select (select min(t.tag) from tag t where t.tag > n.tag and (?2 is null or t.tag < ?2))
    from named n where n.tag is not null
    limit ?4
)
select n.tag, (select count(*) from (select 1 from tag t where t.tag = n.tag limit ?5)) as jobs
from named n where n.tag is not null
order by n.tag
