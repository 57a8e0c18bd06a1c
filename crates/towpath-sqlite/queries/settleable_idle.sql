-- Lists nodes of a graph that no parent holds back, that nobody runs and that are not kept for a decision, runs that have begun left
-- out.
-- ?1 id of the graph, bytes, ?2 the code of the stop that prunes, ?3 the roles of nodes to leave out, ?4 most rows.
-- Returns id, by job.
-- Index: graph (id), node (graph, name), running (job), ended (job), job (key), stop (graph), run (job).
select j.id
from graph g
join node n on n.graph = g.graph
join job j on j.key = n.job
left join stop s on s.graph = g.graph
where g.id = ?1
    and s.reason is not ?2
    and n.role & ?3 = 0
    and n.phase = 2
    and not exists (select 1 from run u where u.job = n.job and u.entries > 0)
    and not exists (select 1 from running r where r.job = n.job)
    and not exists (select 1 from ended e where e.job = n.job)
order by n.job
limit ?4
