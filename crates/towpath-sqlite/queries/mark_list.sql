-- Lists what a job keeps across its attempts.
-- ?1 id bytes, ?2 the code of the stop that prunes.
-- Returns name, codec, bytes, at µs, by name.
-- Index: job (id), stop (graph), mark (job, name).
select m.name, m.codec, m.bytes, m.at
from job j
left join stop s on s.graph = j.graph
join mark m on m.job = j.key
where j.id = ?1 and s.reason is not ?2
order by m.name
