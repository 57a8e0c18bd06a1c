-- Takes an undo from those that nobody has decided about.
-- ?1 job key number.
-- Index: node (job), undo (graph, rank desc, job).
delete from undo
where (graph, rank, job) = (select n.graph, n.depth, n.job from node n where n.job = ?1)
