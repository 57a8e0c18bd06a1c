-- Says whether undos of a graph run, or are to come.
-- ?1 graph key number.
-- Returns one row or none.
-- Index: graph (graph), node (graph, name), ended (job).
select 1
from graph g
where g.graph = ?1
    and g.undoing is not null
    and exists (
        select 1
        from node n
        where n.graph = g.graph and n.guards is not null and not exists (select 1 from ended e where e.job = n.job)
    )
