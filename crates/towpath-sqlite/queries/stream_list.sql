-- Lists the streams into which a run has written. Steps from name to name, whatever there is of each.
-- ?1 run (id), ?2 from which name on there are no more, ?3 most rows.
-- Returns name, how many lines, at of the newest: µs, by name.
-- Index: run (id), shown (run, name, seq).
with recursive which as (select job from run where id = ?1),
named(name) as (
    select (select min(s.name) from shown s where s.run = (select job from which) and s.name > '' and s.name < ?2)
    union all
    select (select min(s.name) from shown s where s.run = (select job from which) and s.name > n.name and s.name < ?2)
    from named n where n.name is not null
),
headed as (
    select n.name, (select max(s.seq) from shown s where s.run = (select job from which) and s.name = n.name) as lines
    from named n where n.name is not null
)
select h.name, h.lines, s.at
from headed h
join shown s on s.run = (select job from which) and s.name = h.name and s.seq = h.lines
where h.lines > 0
order by h.name
limit ?3
