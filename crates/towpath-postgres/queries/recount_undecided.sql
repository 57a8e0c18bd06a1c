-- Locks the nodes of a graph that wait for somebody to decide them, waiting for whoever is taking them.
-- $1 bigint graph (key). Returns nothing of use. Locks: those rows, in the
-- order of their keys.
-- Index: node (graph, name), undecided (job).
select job from towpath.undecided
where job = any(array(select job from towpath.node where graph = $1::bigint))
order by job
for update
