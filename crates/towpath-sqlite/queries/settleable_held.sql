-- Lists nodes of a graph that are kept for a decision, runs that have begun left out: what a cancel has just freed is among them,
-- however large the graph is.
-- ?1 id of the graph, bytes, ?2 the code of the stop that prunes, ?3 the roles of nodes to leave out, ?4 most rows.
-- Returns id, by job.
-- Index: undecided (job), node (job), job (key), graph (id), stop (graph), run (job).
select j.id
from undecided h
cross join node n on n.job = h.job
cross join job j on j.key = h.job
where n.graph = (
        select g.graph from graph g left join stop s on s.graph = g.graph where g.id = ?1 and s.reason is not ?2
    )
    and n.role & ?3 = 0
    and not exists (select 1 from run u where u.job = n.job and u.entries > 0)
order by h.job
limit ?4
