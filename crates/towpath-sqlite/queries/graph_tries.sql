-- Says how a graph stands to its policy of retries.
-- ?1 graph key, ?2 and ?3 and ?4 the codes of the ends dead, quarantined and cancelled, ?5 the role of undos: numbers.
-- Returns generation, stop, and whether a node that ended so is a run with a journal, or an undo has ended; one row.
-- Index: graph (graph), stop (graph), node (graph, name), run (job), ended (job).
select g.generation, s.reason, exists (
    select 1
    from node n
    join ended e on e.job = n.job
    left join run u on u.job = n.job
    where n.graph = g.graph
        and (n.role & ?5 <> 0 or e.state in (?2, ?3, ?4) and (u.entries > 0 or u.chapter > 1))
)
from graph g
left join stop s on s.graph = g.graph
where g.graph = ?1
