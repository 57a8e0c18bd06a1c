-- Says how a graph stands to its policy of retries.
-- ?1 graph key, ?2 the role of undos: numbers.
-- Returns generation, stop, and whether an undo has ended; one row.
-- Index: graph (graph), stop (graph), node (graph, name), ended (job).
select g.generation, s.reason, exists (
    select 1 from node n join ended e on e.job = n.job where n.graph = g.graph and n.role & ?2 <> 0
)
from graph g
left join stop s on s.graph = g.graph
where g.graph = ?1
