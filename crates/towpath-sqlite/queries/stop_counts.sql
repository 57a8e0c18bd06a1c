-- Counts how a graph's nodes stand.
-- ?1 graph key number, ?2 the roles of nodes to leave out.
-- Returns one row: ended, running with a handler or a run that has begun, not started.
-- Index: node (graph, name), ended (job), running (job), run (job).
select
    count(e.job),
    count(case when e.job is null and (r.decide = 0 or u.entries > 0) then 1 end),
    count(case when e.job is null and ifnull(r.decide, 1) <> 0 and ifnull(u.entries, 0) = 0 then 1 end)
from node n
left join ended e on e.job = n.job
left join running r on r.job = n.job
left join run u on u.job = n.job
where n.graph = ?1 and n.role & ?2 = 0
