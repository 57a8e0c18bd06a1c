-- What a graph was given.
-- ?1 id bytes, ?2 the code of the stop that prunes.
-- Returns codec, input; one row or none.
-- Index: graph (id), stop (graph).
select g.codec, g.input
from graph g
left join stop s on s.graph = g.graph
where g.id = ?1 and s.reason is not ?2
