-- The nodes of a graph, to compare with one that has the same id.
-- $1 bigint graph (key). Returns name, id of the job, in no order. No locks.
-- Index: node (graph, name), job (key).
select n.name, j.id from towpath.node n join towpath.job j on j.key = n.job where n.graph = $1::bigint
