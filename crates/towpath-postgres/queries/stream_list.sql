-- Lists the streams into which a run has written. Steps from name to name, whatever there is of each.
-- $1 text run (id), $2 text from which name on there are no more, $3 int most rows.
-- Returns name, how many lines, at of the newest (us), by name. No locks.
-- Index: run (id), shown (run, name, seq).
with recursive which as (select job from towpath.run where id = $1::text),
named(name) as (
  select (select min(s.name) from towpath.shown s
          where s.run = (select job from which) and s.name > '' and s.name < $2::text collate "C") collate "C"
  union all
  select (select min(s.name) from towpath.shown s
          where s.run = (select job from which) and s.name > n.name and s.name < $2::text collate "C")
  from named n where n.name is not null
),
headed as (
  select n.name, (select max(s.seq) from towpath.shown s where s.run = (select job from which) and s.name = n.name) as lines
  from named n where n.name is not null
)
select h.name, h.lines, s.at
from headed h
join towpath.shown s on s.run = (select job from which) and s.name = h.name and s.seq = h.lines
where h.lines > 0
order by h.name
limit $3::int
