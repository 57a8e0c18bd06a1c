-- Counts how a graph's nodes stand.
-- ?1 graph key number, ?2 the roles of nodes to leave out.
-- Returns one row: ended, running with a handler, not started.
-- Index: node (graph, name), ended (job), running (job).
select
    count(e.job),
    count(case when r.decide = 0 then 1 end),
    count(case when e.job is null and ifnull(r.decide, 1) <> 0 then 1 end)
from node n
left join ended e on e.job = n.job
left join running r on r.job = n.job
where n.graph = ?1 and n.role & ?2 = 0
