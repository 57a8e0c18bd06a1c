-- How the nodes of a graph stand, `end` and undos left out.
-- $1 bigint graph (key). Returns ended, running (with a handler), unstarted (counts). No locks.
-- Index: node (graph, name), ended (job), running (job).
select count(x.job) as ended, count(r.job) as running, count(*) - count(x.job) - count(r.job) as unstarted
from towpath.node n
left join towpath.ended x on x.job = n.job
left join towpath.running r on r.job = n.job and r.decide = 0
where n.graph = $1::bigint and n.role & 24 = 0
