-- Locks the nodes of a graph, and first its decisions that are with a worker.
-- $1 bigint graph (key). Returns nothing of use. Locks: those running rows, in
-- the order of their keys.
-- Index: node (graph, name), running (job).
select r.job from towpath.running r
where r.job = any(array(select job from towpath.node where graph = $1::bigint)) and r.decide in (1, 2, 4)
order by r.job
for update
